//! The columns of tables that describe a row's point, so that readers do not have to join the manifest: scheme, load, and each
//! other swept key. In the name of its column, `_` replaces the characters of a key that SQL would have quoted.

use parquet::data_type::ByteArray;

use crate::table::{Cells, Table};
use crate::{Dimension, Experiment, PointInfo};

/// The labels in the rows of each point.
pub(crate) struct Labels {
    schemes: Vec<ByteArray>,
    loads: Vec<Option<f64>>,
    /// By key: the column's name, and the value at each point.
    axes: Vec<(String, Vec<Option<ByteArray>>)>,
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
        let text = |text: String| ByteArray::from(text.into_bytes());
        let axis = |key: &String| {
            let dimension = Dimension::Key(key.clone());
            let values = points.iter().map(|point| dimension.value(point).map(text)).collect();
            (column_name(key), values)
        };
        let screened = experiment.screened().map(|_| {
            let of_point = |point: &PointInfo| point.settings.get("workload.screen").cloned().map(text);
            (SCREENED.to_owned(), points.iter().map(of_point).collect())
        });
        Labels {
            schemes: points.iter().map(|point| ByteArray::from(point.scheme.as_str())).collect(),
            loads: points.iter().map(|point| point.load).collect(),
            axes: keys.map(axis).chain(screened).collect(),
        }
    }

    /// For rows of these points.
    pub(crate) fn columns(&self, points: impl Iterator<Item = u32> + Clone) -> Table {
        let schemes = points.clone().map(|point| self.schemes.get(point as usize).cloned().unwrap_or_default());
        let loads = points.clone().map(|point| self.loads.get(point as usize).copied().flatten());
        let mut columns = vec![("scheme".into(), Cells::whole(schemes)), ("load".into(), Cells::some(loads))];
        columns.extend(self.axes.iter().map(|(name, values)| {
            let value = |point: u32| values.get(point as usize).cloned().flatten();
            (name.clone(), Cells::some(points.clone().map(value)))
        }));
        columns
    }
}
