//! The form of every kind of part: ports, taggers, balancers, controllers, and, in `transport`, transports and congestion
//! controls.
//!
//! | where | what |
//! | --- | --- |
//! | a file above the kind's folder, or `control.rs` in it | the contract: what a part does, and the `…Rules` that make one |
//! | a file or folder in the kind's folder | one part with its rules |
//! | `mod.rs` of the folder | the list: an enum of rules and an enum of parts, one line for each part |
//!
//! Parts are called through the enum, without indirection. `Custom`, a custom part, is boxed.

use std::fmt;
use std::sync::Arc;

/// How a custom part is built.
pub struct Custom<F: ?Sized>(pub Arc<F>);

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

/// Makes the enums of a list. Its lines are `Variant(rules) => part`, or `Variant(rules)` if parts are boxed. Box large
/// parts. The first token is a `$`, for the macro that this macro makes. That macro has four forms:
/// - `each!(part value, part => call)` calls the part, of any variant;
/// - `each!(built_in pattern)` is a pattern: any part but a custom one, whose content matches `pattern`;
/// - `each!(rules value, rules => call, own => call)` calls the rules, or the function that builds a custom part;
/// - `each!(make value, rules => call, own => call)` does the same, and returns the part that the call has built.
#[doc(hidden)]
#[macro_export]
macro_rules! catalogue {
    (
        $d:tt $each:ident
        $(#[$of_rules:meta])* $rules_vis:vis $Rules:ident =>
        $(#[$of_parts:meta])* $parts_vis:vis $Parts:ident
        Custom($own:ty) => $own_part:ty;
        $($(#[$doc:meta])* $kind:ident($rules:ty) => $part:ty;)*
    ) => {
        $(#[$of_rules])*
        #[derive(Clone, Debug)]
        $rules_vis enum $Rules {
            $($(#[$doc])* $kind($rules),)*
            /// A custom one.
            Custom($own),
        }

        $(#[$of_parts])*
        $parts_vis enum $Parts {
            $($(#[$doc])* $kind($part),)*
            /// A custom one.
            Custom($own_part),
        }

        macro_rules! $each {
            (part $d value:expr, $d part:ident => $d call:expr) => {
                match $d value {
                    $($Parts::$kind($d part) => $d call,)*
                    $Parts::Custom($d part) => $d call,
                }
            };
            (built_in $d pattern:pat) => {
                $($Parts::$kind($d pattern))|*
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
        $(#[$of_rules:meta])* $rules_vis:vis $Rules:ident
        Custom($own:ty);
        $($(#[$doc:meta])* $kind:ident($rules:ty);)*
    ) => {
        $(#[$of_rules])*
        #[derive(Clone, Debug)]
        $rules_vis enum $Rules {
            $($(#[$doc])* $kind($rules),)*
            /// A custom one.
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

pub use catalogue;
