//! The columns of a row: their names, units and descriptions, and how a value is taken from a row and put into it.

use crate::{Step, StepRow};

/// A column of a table with a row `R`.
#[derive(Clone, Copy, Debug)]
pub struct Column<R> {
    /// Its name.
    pub name: &'static str,
    /// Its unit; empty for a number or a name.
    pub unit: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Which files have it.
    pub presence: Presence,
    /// Over which flows its values are summed.
    pub sums: Sums,
    /// Its values.
    pub cell: Cell<R>,
}

/// Which files have a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Every file.
    Always,
    /// Every file but those of versions before it: zero or empty there.
    Later,
    /// Files with a flow that has measured its steps.
    IfSteps,
    /// Files with a flow that waited for a first answer.
    IfUnanswered,
    /// Files with a flow of the flow level.
    IfRates,
    /// Files with a flow that waited for a timer.
    IfTimedOut,
    /// Files with a flow that was given up.
    IfGivenUp,
}

/// The sums of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    /// None.
    None,
    /// Over the flows of a run.
    Run,
    /// Over those of a run, and of each size class.
    Class,
}

/// The type of a column's values, and how a row gives and takes one.
#[derive(Clone, Copy, Debug)]
pub enum Cell<R> {
    /// A small number.
    U8(fn(&R) -> u8, fn(&mut R, u8)),
    /// A number.
    U32(fn(&R) -> u32, fn(&mut R, u32)),
    /// A large number.
    U64(fn(&R) -> u64, fn(&mut R, u64)),
    /// A number, or empty.
    MaybeU32(fn(&R) -> Option<u32>, fn(&mut R, Option<u32>)),
    /// A large number, or empty.
    MaybeU64(fn(&R) -> Option<u64>, fn(&mut R, Option<u64>)),
    /// A number that follows from the others of its row, or empty. It is written, and not read.
    Derived(fn(&R) -> Option<f64>),
    /// The time in a step, in nanoseconds; empty where no steps are known. A file has the columns of all steps or of none.
    Step(Step, fn(&R) -> Option<&StepRow>),
}

/// A type of a field that is a column.
pub(crate) trait Value: Sized {
    /// The cell of a field.
    fn cell<R>(get: fn(&R) -> Self, set: fn(&mut R, Self)) -> Cell<R>;
}

macro_rules! values {
    ($($type:ty => $cell:ident;)*) => {
        $(impl Value for $type {
            fn cell<R>(get: fn(&R) -> $type, set: fn(&mut R, $type)) -> Cell<R> {
                Cell::$cell(get, set)
            }
        })*
    };
}

values! {
    u8 => U8;
    u32 => U32;
    u64 => U64;
    Option<u32> => MaybeU32;
    Option<u64> => MaybeU64;
}

/// The columns of all steps.
pub(crate) fn of_steps<R>(get: fn(&R) -> Option<&StepRow>) -> impl Iterator<Item = Column<R>> {
    Step::ALL.into_iter().map(move |step| Column {
        name: step.column(),
        unit: "ns",
        about: step.about(),
        presence: Presence::IfSteps,
        sums: Sums::None,
        cell: Cell::Step(step, get),
    })
}
