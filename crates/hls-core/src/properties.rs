//! What is true of a policy: the properties that its struct states (`HLS_PROPERTIES` in `core/policy.h`).

/// Declares [`PolicyProperties`] with these members, each of which is read by its name.
macro_rules! properties {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// What a policy says of itself: members of `struct hls_policy`, by the same names.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct PolicyProperties {
            $($(#[doc = $doc])+ pub $name: bool,)+
        }

        impl PolicyProperties {
            /// Those of which `is` says by name that they are true.
            pub(crate) fn read(mut is: impl FnMut(&str) -> bool) -> PolicyProperties {
                PolicyProperties { $($name: is(stringify!($name)),)+ }
            }

            /// All by name.
            pub(crate) fn all(self) -> impl Iterator<Item = (&'static str, bool)> {
                [$((stringify!($name), self.$name),)+].into_iter()
            }
        }
    };
}

properties! {
    /// An instance may hold several VPs of different parents (a join).
    joins,
    /// An instance has [`pages`](crate::pages), through which a process communicates with it.
    has_pages,
    /// It divides the time of one CPU: a scheduler below it has one VP unless the file says otherwise.
    serial,
    /// It tells a slower processor above it of its deadlines, and counts budgets in that one's time.
    tells_deadlines,
    /// The first parameter of a VP is its level, the greatest first. A VP that shares its level is promised nothing.
    promises_by_level,
    /// It plans when its children run, and refuses a child for which it finds no place: two times of a VP without
    /// presets are the length of a slot, and how often there is one.
    plans,
    /// Its instance may be the default scheduler of a machine.
    may_be_default,
    /// Its instance may have the threads of `hls`.
    may_serve_hls,
}

impl PolicyProperties {
    /// The first property in which two builds of a policy differ.
    pub fn difference(self, other: PolicyProperties) -> Option<&'static str> {
        self.all().zip(other.all()).find(|(ours, theirs)| ours != theirs).map(|((name, _), _)| name)
    }
}
