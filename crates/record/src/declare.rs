//! The macros that make rows, columns and counts of the list in [`measures`](crate::measures).

/// Sorts a list of measures into the fields of a row, the columns, and the first, other and class counts, and passes these five
/// lists to the macro `$then`.
///
/// `[serde(default)]` stands before counts that results of earlier versions lack.
macro_rules! sorted {
    ($then:ident [$($fields:tt)*] [$($columns:tt)*] [$($first:tt)*] [$($counts:tt)*] [$($classes:tt)*]
     $(#[$doc:meta])* value $name:ident: $type:ty, $unit:literal, $about:literal $(, $when:ident)?; $($rest:tt)*) => {
        $crate::declare::sorted! { $then
            [$($fields)* $(#[$doc])* $name: $type;]
            [$($columns)* { field $name $unit $about $($when)? }]
            [$($first)*] [$($counts)*] [$($classes)*] $($rest)* }
    };
    ($then:ident [$($fields:tt)*] [$($columns:tt)*] [$($first:tt)*] [$($counts:tt)*] [$($classes:tt)*]
     derived $name:ident = $of:path, $unit:literal, $about:literal; $($rest:tt)*) => {
        $crate::declare::sorted! { $then [$($fields)*] [$($columns)* { derived $name $of, $unit $about }]
            [$($first)*] [$($counts)*] [$($classes)*] $($rest)* }
    };
    ($then:ident [$($fields:tt)*] [$($columns:tt)*] [$($first:tt)*] [$($counts:tt)*] [$($classes:tt)*]
     $(#[$doc:meta])* steps $name:ident: $type:ty; $($rest:tt)*) => {
        $crate::declare::sorted! { $then [$($fields)* $(#[$doc])* $name: $type;] [$($columns)* { steps $name }]
            [$($first)*] [$($counts)*] [$($classes)*] $($rest)* }
    };
    ($then:ident [$($fields:tt)*] [$($columns:tt)*] [] [$($counts:tt)*] [$($classes:tt)*]
     $(#[$doc:meta])* first_count $name:ident: u32, $unit:literal, $about:literal, Always; $($rest:tt)*) => {
        $crate::declare::sorted! { $then
            [$($fields)* $(#[$doc])* $name: u32;] [$($columns)* { field $name $unit $about Always }]
            [$(#[$doc])* $name] [$($counts)*] [$($classes)*] $($rest)* }
    };
    ($then:ident [$($fields:tt)*] [$($columns:tt)*] [$($first:tt)*] [$($counts:tt)*] [$($classes:tt)*]
     $(#[$doc:meta])* count $name:ident: u32, $unit:literal, $about:literal, Always; $($rest:tt)*) => {
        $crate::declare::sorted! { $then
            [$($fields)* $(#[$doc])* $name: u32;] [$($columns)* { field $name $unit $about Always }]
            [$($first)*] [$($counts)* $(#[$doc])* $name;] [$($classes)*] $($rest)* }
    };
    ($then:ident [$($fields:tt)*] [$($columns:tt)*] [$($first:tt)*] [$($counts:tt)*] [$($classes:tt)*]
     $(#[$doc:meta])* count $name:ident: u32, $unit:literal, $about:literal; $($rest:tt)*) => {
        $crate::declare::sorted! { $then
            [$($fields)* $(#[$doc])* $name: u32;] [$($columns)* { field $name $unit $about }]
            [$($first)*] [$($counts)* $(#[$doc])* [serde(default)] $name;] [$($classes)*] $($rest)* }
    };
    ($then:ident [$($fields:tt)*] [$($columns:tt)*] [$($first:tt)*] [$($counts:tt)*] [$($classes:tt)*]
     $(#[$doc:meta])* class_count $name:ident: u32, $unit:literal, $about:literal; $($rest:tt)*) => {
        $crate::declare::sorted! { $then
            [$($fields)* $(#[$doc])* $name: u32;] [$($columns)* { field $name $unit $about }]
            [$($first)*] [$($counts)* $(#[$doc])* [serde(default)] $name;] [$($classes)* $(#[$doc])* $name;] $($rest)* }
    };
    ($then:ident $fields:tt $columns:tt $first:tt $counts:tt $classes:tt) => {
        $then! { $fields $columns $first $counts $classes }
    };
}

/// Declares [`FlowRow`], its columns and [`FlowCount`] from a sorted list.
macro_rules! flow_row {
    ([$($(#[$doc:meta])* $name:ident: $type:ty;)*] [$({ $($column:tt)* })*]
     [$(#[$first_doc:meta])* $first:ident] [$($(#[$count_doc:meta])* $([$default:meta])? $count:ident;)*] $classes:tt) => {
        /// A flow from its arrival at the sending host to its end.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct FlowRow {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl FlowRow {
            /// Its columns in the order of `flows.parquet`.
            pub fn columns() -> Vec<Column<FlowRow>> {
                let mut columns = Vec::new();
                $($crate::declare::flow_column!(columns, $($column)*);)*
                columns
            }
        }

        /// A measure that is summed over the flows of a run. Its variants have the names of the fields.
        #[allow(non_camel_case_types, reason = "a variant has the name of a field")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum FlowCount {
            $(#[$first_doc])* $first,
            $($(#[$count_doc])* $count,)*
        }

        impl FlowCount {
            /// All, in the order of `manifest.json`.
            pub const ALL: &[FlowCount] = &[FlowCount::$first, $(FlowCount::$count,)*];

            /// Its name in files.
            pub fn name(self) -> &'static str {
                match self {
                    FlowCount::$first => stringify!($first),
                    $(FlowCount::$count => stringify!($count),)*
                }
            }

            /// That of a flow.
            pub fn of_flow(self, row: &FlowRow) -> u64 {
                u64::from(match self {
                    FlowCount::$first => row.$first,
                    $(FlowCount::$count => row.$count,)*
                })
            }

            /// That of a run.
            pub fn of(self, run: &PointResult) -> u64 {
                match self {
                    FlowCount::$first => run.$first,
                    $(FlowCount::$count => run.$count,)*
                }
            }

            pub(crate) fn of_mut(self, run: &mut PointResult) -> &mut u64 {
                match self {
                    FlowCount::$first => &mut run.$first,
                    $(FlowCount::$count => &mut run.$count,)*
                }
            }
        }
    };
}

/// Adds a column, or those of all steps.
macro_rules! flow_column {
    ($columns:ident, field $name:ident $unit:literal $about:literal) => {
        $crate::declare::flow_column!($columns, field $name $unit $about Later)
    };
    ($columns:ident, field $name:ident $unit:literal $about:literal $when:ident) => {
        $columns.push(Column {
            name: stringify!($name),
            unit: $unit,
            about: $about,
            presence: Presence::$when,
            cell: Value::cell(|row: &FlowRow| row.$name, |row: &mut FlowRow, value| row.$name = value),
        })
    };
    ($columns:ident, derived $name:ident $of:path, $unit:literal $about:literal) => {
        $columns.push(Column {
            name: stringify!($name),
            unit: $unit,
            about: $about,
            presence: Presence::Always,
            cell: Cell::Derived($of),
        })
    };
    ($columns:ident, steps $name:ident) => {
        $columns.extend(of_steps(|row: &FlowRow| row.$name))
    };
}

pub(crate) use {flow_column, flow_row, sorted};
