//! The form of every kind of part: ports, taggers, balancers, controllers.
//!
//! | where | what |
//! | --- | --- |
//! | a file of the crate's root | the contract: what a part does, and the `…Rules` that make one |
//! | a file in the kind's folder | one part with its rules |
//! | `mod.rs` of the folder | the list: an enum of rules and an enum of parts, one line for each part |
//!
//! Parts are called through the enum, without indirection; `Custom`, a part of the user's own, is in a box.

use std::fmt;
use std::sync::Arc;

/// How a part of the user's own is made.
pub struct Custom<F: ?Sized>(pub(crate) Arc<F>);

impl<F: ?Sized> Clone for Custom<F> {
    fn clone(&self) -> Custom<F> {
        Custom(Arc::clone(&self.0))
    }
}

impl<F: ?Sized> fmt::Debug for Custom<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("custom")
    }
}

/// Makes the enums of a list of lines `Variant(rules) => part`, or of lines `Variant(rules)` where parts are boxed. A large
/// part stands in a box. The first token is a `$`, for the macro that it makes. That one has three forms:
/// - `each!(part value, part => call)` calls the part, whichever it is;
/// - `each!(rules value, rules => call, own => call)` calls the rules, or what makes a part of the user's own;
/// - `each!(make value, rules => call, own => call)` does the same, and returns the part that the call has made.
macro_rules! catalogue {
    (
        $d:tt $each:ident
        $(#[$of_rules:meta])* $Rules:ident => $(#[$of_parts:meta])* $Parts:ident
        Custom($own:ty) => $own_part:ty;
        $($(#[$doc:meta])* $kind:ident($rules:ty) => $part:ty;)*
    ) => {
        $(#[$of_rules])*
        #[derive(Clone, Debug)]
        pub enum $Rules {
            $($(#[$doc])* $kind($rules),)*
            /// One of the user's own.
            Custom($own),
        }

        $(#[$of_parts])*
        pub enum $Parts {
            $($(#[$doc])* $kind($part),)*
            /// One of the user's own.
            Custom($own_part),
        }

        macro_rules! $each {
            (part $d value:expr, $d part:ident => $d call:expr) => {
                match $d value {
                    $($Parts::$kind($d part) => $d call,)*
                    $Parts::Custom($d part) => $d call,
                }
            };
            (rules $d value:expr, $d rules:ident => $d call:expr, $d own:pat => $d of_own:expr) => {
                match $d value {
                    $($Rules::$kind($d rules) => $d call,)*
                    $Rules::Custom($d own) => $d of_own,
                }
            };
            (make $d value:expr, $d rules:ident => $d call:expr, $d own:pat => $d of_own:expr) => {
                match $d value {
                    $($Rules::$kind($d rules) => $Parts::$kind($d call.into()),)*
                    $Rules::Custom($d own) => $Parts::Custom($d of_own),
                }
            };
        }
    };
    (
        $d:tt $each:ident
        $(#[$of_rules:meta])* $Rules:ident
        Custom($own:ty);
        $($(#[$doc:meta])* $kind:ident($rules:ty);)*
    ) => {
        $(#[$of_rules])*
        #[derive(Clone, Debug)]
        pub enum $Rules {
            $($(#[$doc])* $kind($rules),)*
            /// One of the user's own.
            Custom($own),
        }

        macro_rules! $each {
            (rules $d value:expr, $d rules:ident => $d call:expr, $d own:pat => $d of_own:expr) => {
                match $d value {
                    $($Rules::$kind($d rules) => $d call,)*
                    $Rules::Custom($d own) => $d of_own,
                }
            };
        }
    };
}

pub(crate) use catalogue;
