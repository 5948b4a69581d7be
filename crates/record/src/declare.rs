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
            [$($columns)* { None $name $unit $about $($when)? }]
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
            [$($fields)* $(#[$doc])* $name: u32;] [$($columns)* { Class $name $unit $about Always }]
            [$(#[$doc])* $name] [$($counts)*] [$($classes)*] $($rest)* }
    };
    ($then:ident [$($fields:tt)*] [$($columns:tt)*] [$($first:tt)*] [$($counts:tt)*] [$($classes:tt)*]
     $(#[$doc:meta])* count $name:ident: u32, $unit:literal, $about:literal, Always; $($rest:tt)*) => {
        $crate::declare::sorted! { $then
            [$($fields)* $(#[$doc])* $name: u32;] [$($columns)* { Run $name $unit $about Always }]
            [$($first)*] [$($counts)* $(#[$doc])* $name;] [$($classes)*] $($rest)* }
    };
    ($then:ident [$($fields:tt)*] [$($columns:tt)*] [$($first:tt)*] [$($counts:tt)*] [$($classes:tt)*]
     $(#[$doc:meta])* count $name:ident: u32, $unit:literal, $about:literal; $($rest:tt)*) => {
        $crate::declare::sorted! { $then
            [$($fields)* $(#[$doc])* $name: u32;] [$($columns)* { Run $name $unit $about }]
            [$($first)*] [$($counts)* $(#[$doc])* [serde(default)] $name;] [$($classes)*] $($rest)* }
    };
    ($then:ident [$($fields:tt)*] [$($columns:tt)*] [$($first:tt)*] [$($counts:tt)*] [$($classes:tt)*]
     $(#[$doc:meta])* class_count $name:ident: u32, $unit:literal, $about:literal; $($rest:tt)*) => {
        $crate::declare::sorted! { $then
            [$($fields)* $(#[$doc])* $name: u32;] [$($columns)* { Class $name $unit $about }]
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
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct FlowRow {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl FlowRow {
            /// Its columns in the order of `flows.parquet`.
            pub fn columns() -> Vec<Column<FlowRow>> {
                let columns: Vec<Vec<Column<FlowRow>>> = vec![$($crate::declare::flow_column!($($column)*)),*];
                columns.concat()
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

/// A column, or those of all steps.
macro_rules! flow_column {
    ($sums:ident $name:ident $unit:literal $about:literal) => {
        $crate::declare::flow_column!($sums $name $unit $about Later)
    };
    ($sums:ident $name:ident $unit:literal $about:literal $when:ident) => {
        vec![Column {
            name: stringify!($name),
            unit: $unit,
            about: $about,
            presence: Presence::$when,
            sums: Sums::$sums,
            cell: Value::cell(|row: &FlowRow| row.$name, |row: &mut FlowRow, value| row.$name = value),
        }]
    };
    (derived $name:ident $of:path, $unit:literal $about:literal) => {
        vec![Column {
            name: stringify!($name),
            unit: $unit,
            about: $about,
            presence: Presence::Always,
            sums: Sums::None,
            cell: Cell::Derived($of),
        }]
    };
    (steps $name:ident) => {
        of_steps(|row: &FlowRow| row.$name.as_ref()).collect()
    };
}

pub(crate) use {flow_column, flow_row, sorted};

#[cfg(test)]
#[allow(unreachable_pub, dead_code, reason = "the macros declare what other crates use")]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};

    use crate::columns::{Cell, Column, Presence, Sums, Value, of_steps};
    use crate::disorder::disorder;
    use crate::measures::measures;
    use crate::point::point_result;
    use crate::{CoflowRow, Deadlines, Delays, Goodput, LinkClass, PeriodicPart, Series, StepRow};

    /// The measures, and the line of one more.
    macro_rules! with_probes {
        ($then:ident) => {
            measures! { $then
                /// Probes that its sender sent.
                class_count probes_sent: u32, "packets", "packets that asked for an answer";
            }
        };
    }

    with_probes!(flow_row);
    with_probes!(point_result);
    with_probes!(disorder);

    impl FlowRow {
        fn slowdown(&self) -> Option<f64> {
            None
        }
    }

    #[test]
    fn measures__one_more_line_is_a_field_a_column_a_figure_and_two_sums() {
        let mut row = FlowRow { probes_sent: 3, ..FlowRow::default() };
        let columns = FlowRow::columns();
        let (known, more) = columns.split_at(crate::FlowRow::columns().len());
        assert_eq!(known.last().unwrap().name, crate::FlowRow::columns().last().unwrap().name);
        let [Column { name: "probes_sent", presence: Presence::Later, cell: Cell::U32(get, set), .. }] = more else {
            panic!("{more:?}");
        };
        assert_eq!(get(&row), 3);
        set(&mut row, 4);
        assert_eq!(row.probes_sent, 4);
        let figures: Vec<&str> = FlowCount::ALL.iter().map(|count| count.name()).collect();
        assert_eq!(figures[crate::FlowCount::ALL.len()..], ["probes_sent"]);
        let mut run = PointResult::default();
        *FlowCount::probes_sent.of_mut(&mut run) += FlowCount::probes_sent.of_flow(&row);
        assert_eq!(FlowCount::probes_sent.of(&run), 4);
        let text = serde_json::to_string(&run).unwrap();
        assert!(text.contains("\"duplicate_acks\":0,\"probes_sent\":4,"), "{text}");
        let earlier = text.replace("\"probes_sent\":4,", "");
        assert_eq!(serde_json::from_str::<PointResult>(&earlier).unwrap().probes_sent, 0);
        let mut class = Disorder::of(&row);
        class.add(&Disorder::of(&row));
        assert_eq!((Disorder::COUNTS.last(), class.counts().last()), (Some(&"probes_sent"), Some(8)));
        let text = serde_json::to_string(&class).unwrap();
        assert_eq!(serde_json::from_str::<Disorder>(&text).unwrap(), class);
        let earlier = text.replace(",\"probes_sent\":8", "");
        assert_eq!(serde_json::from_str::<Disorder>(&earlier).unwrap().probes_sent, 0);
    }
}
