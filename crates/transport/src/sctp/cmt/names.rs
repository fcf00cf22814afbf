//! `named!`: the names of an enum's values in options and scenario files.

/// Gives an enum `ALL`, `name` and `by_name`: its values with names and one sentence each, and
/// other names that a value is found by.
macro_rules! named {
    (
        $type:ident { $($value:ident $name:literal $about:literal;)+ }
        $($alias:literal = $own:literal;)*
    ) => {
        impl $type {
            /// Every value with its name and one sentence.
            pub const ALL: [($type, &'static str, &'static str); [$($name),+].len()] =
                [$(($type::$value, $name, $about)),+];

            /// The name in options and scenario files.
            pub const fn name(self) -> &'static str {
                match self {
                    $($type::$value => $name,)+
                }
            }

            /// The value with this `name`, in any case; names of INET and FreeBSD are aliases.
            pub fn by_name(name: &str) -> Option<$type> {
                let aliases: &[(&str, &str)] = &[$(($alias, $own)),*];
                let name = $crate::choice::own_name(name, aliases);
                let all = $type::ALL.into_iter();
                all.map(|(value, ..)| value).find(|value| value.name() == name)
            }
        }
    };
}

pub(in crate::sctp) use named;
