//! The columns of tables that describe a row's point, so that readers do not have to join the manifest: scheme, load, and each
//! other swept key. In the name of its column, `_` replaces the characters of a key that SQL would have quoted.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, StringArray};
use arrow_schema::{DataType, Field};

use crate::{Dimension, Experiment, PointInfo};

/// The labels in the rows of each point.
pub(crate) struct Labels {
    schemes: Vec<String>,
    loads: Vec<Option<f64>>,
    /// By key: the column's name, and the value at each point.
    axes: Vec<(String, Vec<Option<String>>)>,
}

/// The column of a result that has a sample of receivers: every so-manieth host.
const SCREENED: &str = "screened";

/// The name of a swept key's column.
pub(crate) fn column_name(key: &str) -> String {
    key.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_")
}

impl Labels {
    pub(crate) fn of(experiment: &Experiment) -> Labels {
        let points = &experiment.points;
        let keys = points.first().into_iter().flat_map(|point| &point.axes).map(|axis| &axis.key);
        let axis = |key: &String| {
            let dimension = Dimension::Key(key.clone());
            (column_name(key), points.iter().map(|point| dimension.value(point)).collect())
        };
        let screened = experiment.screened().map(|_| {
            let of_point = |point: &PointInfo| point.settings.get("workload.screen").cloned();
            (SCREENED.to_owned(), points.iter().map(of_point).collect())
        });
        Labels {
            schemes: points.iter().map(|point| point.scheme.clone()).collect(),
            loads: points.iter().map(|point| point.load).collect(),
            axes: keys.map(axis).chain(screened).collect(),
        }
    }

    pub(crate) fn fields(&self) -> Vec<Field> {
        let text = |name: &str, empty| Field::new(name, DataType::Utf8, empty);
        let axes = self.axes.iter().map(|(name, _)| text(name, true));
        [text("scheme", false), Field::new("load", DataType::Float64, true)].into_iter().chain(axes).collect()
    }

    /// For rows of these points.
    pub(crate) fn columns(&self, points: impl Iterator<Item = u32> + Clone) -> Vec<ArrayRef> {
        let schemes = points.clone().map(|point| self.schemes.get(point as usize).map_or("", String::as_str));
        let loads = points.clone().map(|point| self.loads.get(point as usize).copied().flatten());
        let mut columns: Vec<ArrayRef> =
            vec![Arc::new(StringArray::from_iter_values(schemes)), Arc::new(Float64Array::from_iter(loads))];
        columns.extend(self.axes.iter().map(|(_, values)| {
            let value = |point: u32| values.get(point as usize).and_then(Option::as_deref);
            Arc::new(StringArray::from_iter(points.clone().map(value))) as ArrayRef
        }));
        columns
    }

    /// The same with their fields, for a whole table.
    pub(crate) fn of_rows(&self, points: impl Iterator<Item = u32> + Clone) -> Vec<(Field, ArrayRef)> {
        self.fields().into_iter().zip(self.columns(points)).collect()
    }
}
