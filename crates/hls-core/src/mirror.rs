//! Structs of C for Rust. What C states, Rust repeats once, with the same names; tests have a C compiler compare the
//! places and sizes of all members.

#[cfg(test)]
pub(crate) mod tests;

/// Declares a struct with the layout of a struct of C: `mirror! { pub struct VpImage = "struct hls_vp" { ... } }`. A
/// member has its name in C. If its name begins with `_`, it stands for members of C that Rust does not read, and only
/// the places of its neighbours are compared.
///
/// In tests, `assertions` is the text of C that compares the two.
#[macro_export]
macro_rules! mirror {
    ($(#[$about:meta])* $vis:vis struct $name:ident = $of_c:literal {
        $($(#[$doc:meta])* $of_member:vis $member:ident: $type:ty,)+
    }) => {
        $(#[$about])*
        #[repr(C)]
        $vis struct $name {
            $($(#[$doc])* $of_member $member: $type,)+
        }

        #[cfg(test)]
        impl $name {
            pub(crate) fn assertions() -> String {
                let members: &[(&str, usize, usize)] = &[
                    $((stringify!($member), std::mem::offset_of!($name, $member), size_of::<$type>()),)+
                ];
                $crate::mirror::assertions($of_c, members)
            }
        }
    };
}

/// Assertions in C: the struct `of_c` has members of these names, at these places, of these sizes.
#[doc(hidden)]
pub fn assertions(of_c: &str, members: &[(&str, usize, usize)]) -> String {
    let compared = members.iter().filter(|(name, ..)| !name.starts_with('_'));
    let assertion = |(name, place, size): &(&str, usize, usize)| {
        format!(
            "_Static_assert(__builtin_offsetof({of_c}, {name}) == {place} && sizeof((({of_c} *)0)->{name}) == {size},\n\
             \t\"{of_c}: Rust has `{name}` at {place}, {size} bytes\");\n"
        )
    };
    compared.map(assertion).collect()
}
