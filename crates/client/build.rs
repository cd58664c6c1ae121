//! Writes what `src/hls.Control.varlink` states in Rust: its types; for each method its call, its reply, and how the
//! server reads the call and finds what carries it out; and its errors. `src/interface.rs` includes the result.

use std::fmt::Write;
use std::{env, fs};
use zlink_idl::{Comment, CustomEnum, CustomType, Field, Interface, Type};

const DEFINITION: &str = "src/hls.Control.varlink";

/// Integers that need fewer than 64 bits, by the names of their members: numbers of threads, processes, users and CPUs.
const NARROW: [(&str, &str); 6] = [
    ("agent", "u32"),
    ("cpus", "u16"),
    ("owner", "u32"),
    ("process", "u32"),
    ("thread", "u32"),
    ("width", "u16"),
];

fn main() {
    println!("cargo::rerun-if-changed={DEFINITION}");
    let text = fs::read_to_string(DEFINITION).expect("the crate has the definition");
    let interface =
        Interface::try_from(text.as_str()).unwrap_or_else(|error| panic!("{DEFINITION}: {error}"));
    let folder = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(format!("{folder}/interface.rs"), rust(&interface).expect("a string"))
        .expect("the folder is there");
}

fn rust(interface: &Interface) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    for custom in interface.custom_types() {
        match custom {
            CustomType::Enum(of) => enumeration(&mut out, of)?,
            CustomType::Object(of) => {
                let fields: Vec<&Field> = of.fields().collect();
                structure(&mut out, &docs(of.comments()), of.name().as_str(), &fields)?;
            }
        }
    }
    let (mut variants, mut readers, mut arms) = (String::new(), String::new(), String::new());
    // Methods with equal replies have one type for them.
    let mut replies: Vec<(Vec<String>, String)> = Vec::new();
    for method in interface.methods() {
        let name = method.name().as_str();
        let (inputs, outputs): (Vec<&Field>, Vec<&Field>) =
            (method.inputs().collect(), method.outputs().collect());
        structure(&mut out, &docs(method.comments()), name, &inputs)?;
        let (about, reply) = (format!("/// The reply to [`{name}`].\n"), format!("{name}Reply"));
        let shape = outputs.iter().map(|field| format!("{}: {}", field.name(), field.ty())).collect();
        match replies.iter().find(|(known, _)| *known == shape) {
            Some((_, same)) => writeln!(out, "{about}pub type {reply} = {same};")?,
            None => structure(&mut out, &about, &reply, &outputs)?,
        }
        replies.push((shape, reply.clone()));
        writeln!(
            out,
            "impl Method for {name} {{ const NAME: &'static str = \"{name}\"; type Reply = {reply}; }}"
        )?;
        writeln!(variants, "/// A call of `{name}`.\n{name}({name}),")?;
        let members: String = inputs.iter().map(|field| reader(field)).collect();
        writeln!(arms, "$crate::interface::Request::{name}($call) => $do,")?;
        writeln!(readers, "\"{name}\" => Request::{name}({name} {{ {members} }}),")?;
    }
    writeln!(
        out,
        "/// A call of any method.\n#[derive(Clone, Debug, PartialEq, Eq)]\npub enum Request {{\n{variants}}}\n\
         impl Request {{\n\
         /// Reads the parameters of a method; `None`: there is no such method.\n///\n\
         /// # Errors\n/// A parameter is missing, or of another type.\n\
         pub fn read(method: &str, p: &mut Parameters) -> Result<Option<Request>, InvalidParameter> {{\n\
         Ok(Some(match method {{\n{readers}_ => return Ok(None),\n}}))\n}}\n}}"
    )?;
    writeln!(
        out,
        "/// Evaluates an expression with the call in a [`Request`](crate::interface::Request), whichever it is.\n\
         #[macro_export]\nmacro_rules! with_call {{\n\
         ($request:expr, $call:ident => $do:expr) => {{ match $request {{ {arms} }} }};\n}}"
    )?;
    errors(&mut out, interface)?;
    Ok(out)
}

/// The errors, as one type that is written and read as the message of an error.
fn errors(out: &mut String, interface: &Interface) -> std::fmt::Result {
    writeln!(
        out,
        "/// An error of the interface.\n#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]"
    )?;
    writeln!(out, "#[serde(tag = \"error\", content = \"parameters\")]\npub enum Failure {{")?;
    let mut reasons = String::new();
    for error in interface.errors() {
        let (name, full) = (error.name().as_str(), format!("{}.{}", interface.name(), error.name()));
        writeln!(out, "{}#[serde(rename = \"{full}\")]\n{name} {{", docs(error.comments()))?;
        for field in error.fields() {
            writeln!(
                out,
                "{}{}: {},",
                docs(field.comments()),
                field.name(),
                rust_type(field.name().as_str(), field.ty())
            )?;
        }
        writeln!(out, "}},")?;
        writeln!(reasons, "Failure::{name} {{ reason, .. }} => reason,")?;
    }
    writeln!(out, "}}\nimpl Failure {{\n/// What was found, and what was expected.")?;
    writeln!(out, "pub fn reason(&self) -> &str {{ match self {{\n{reasons}}} }}\n}}")
}

fn enumeration(out: &mut String, of: &CustomEnum) -> std::fmt::Result {
    writeln!(
        out,
        "{}#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]",
        docs(of.comments())
    )?;
    writeln!(out, "#[serde(rename_all = \"snake_case\")]\npub enum {} {{", of.name())?;
    for variant in of.variants() {
        let name = variant.name().as_str();
        let (first, rest) = name.split_at(1);
        writeln!(out, "/// `{name}`.\n{}{rest},", first.to_uppercase())?;
    }
    writeln!(out, "}}")
}

fn structure(out: &mut String, docs_of_it: &str, name: &str, fields: &[&Field]) -> std::fmt::Result {
    writeln!(
        out,
        "{docs_of_it}#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]\npub struct {name} {{"
    )?;
    for field in fields {
        let (name, docs) = (field.name().as_str(), docs(field.comments()));
        let attribute = match field.ty() {
            Type::Optional(inner) if !has_default(inner) => {
                "#[serde(skip_serializing_if = \"Option::is_none\", default)]\n"
            }
            Type::Optional(_) => "#[serde(default)]\n",
            _ => "",
        };
        writeln!(out, "{docs}{attribute}pub {name}: {},", rust_type(name, field.ty()))?;
    }
    writeln!(out, "}}")
}

/// Whether an optional value of this type is plain in Rust, and false or empty where it is absent.
fn has_default(of: &Type) -> bool {
    matches!(of, Type::Bool | Type::Map(_))
}

fn rust_type(name: &str, of: &Type) -> String {
    match of {
        Type::Bool => "bool".into(),
        Type::Int => NARROW.iter().find(|(narrow, _)| *narrow == name).map_or("u64", |(_, of)| of).into(),
        Type::String => "String".into(),
        Type::Optional(inner) if has_default(inner) => rust_type(name, inner),
        Type::Optional(inner) => format!("Option<{}>", rust_type(name, inner)),
        Type::Array(inner) => format!("Vec<{}>", rust_type(name, inner)),
        Type::Map(inner) if **inner == Type::String => "Texts".into(),
        Type::Custom(custom) => custom.as_str().into(),
        other => panic!("`{name}` is of type {other}, for which this script has no type of Rust"),
    }
}

/// How a member of a call is read from its parameters.
fn reader(field: &Field) -> String {
    let (name, of) = (field.name().as_str(), rust_type(field.name().as_str(), field.ty()));
    let function = match of.as_str() {
        "String" => "text",
        "Option<String>" => "optional_text",
        "Option<u64>" => "optional_number",
        "bool" => "flag",
        "u32" => "thread",
        "Texts" => "texts",
        other => panic!("`{name}` is of type {other}, which `Parameters` does not read"),
    };
    format!("{name}: p.{function}(\"{name}\")?, ")
}

fn docs<'c>(comments: impl Iterator<Item = &'c Comment<'c>>) -> String {
    comments.map(|comment| format!("/// {}\n", comment.text())).collect()
}
