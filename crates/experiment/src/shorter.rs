//! What a smaller scale makes shorter or smaller than in the file: the difference between these runs and the paper's.

use crate::document::Document;
use crate::error::Error;
use crate::folder::Folder;
use crate::points::{self, Point};
use crate::scale::Scale;
use crate::scheme_files::SchemeText;
use flowsieve_settings::{Address, Origin, Section, Table, Value};
use std::sync::Arc;

/// The points as in the file.
pub(crate) struct Whole(Vec<Point>);

impl Whole {
    /// Returns the points of a document before a scale has changed it. At the paper's own scale there is no difference.
    pub(crate) fn of(
        document: &Document,
        scale: Scale,
        (folder, builtin, schemes): (&Folder, &[&str], &Arc<[SchemeText]>),
    ) -> Result<Whole, Error> {
        if scale == Scale::Paper {
            return Ok(Whole(Vec::new()));
        }
        let mut document = document.clone();
        let table = Scale::Paper.choose(&mut document)?;
        let mut points = points::points(&document, folder, builtin, schemes)?;
        if let Some(table) = table {
            table.give_flows(&mut points, false)?;
            table.shorten(&mut points)?;
        }
        Ok(Whole(points))
    }

    /// Lists the settings that the scale made smaller at this point, compared with the same point at full scale (or any
    /// full-scale point of the scheme if the sweep differs). Changes from the command line and swept settings are
    /// ignored.
    pub(crate) fn taken_from(&self, point: &Point) -> Vec<String> {
        let is_of_scheme = |other: &&Point| other.variant.name == point.variant.name;
        let same = self.0.iter().filter(is_of_scheme).find(|other| other.values == point.values);
        let Some(whole) = same.or_else(|| self.0.iter().find(is_of_scheme)) else { return Vec::new() };
        let less = |(address, value, origin): (&Address, &Value, &Origin)| {
            let was = whole.settings.given(address).map(|(value, _)| value);
            let is_less = match (was, value) {
                (Some(Value::Count(was)), Value::Count(is)) => is < was,
                (Some(Value::Time(was)), Value::Time(is)) => is < was,
                (was, is) => was != Some(is),
            };
            let is_meant = !matches!(origin, Origin::CommandLine(_)) && !point.is_swept(address) && decides(address);
            let of_paper = was.map(|was| format!(" ({was} at paper scale)")).unwrap_or_default();
            (is_less && is_meant).then(|| format!("{} = {value}{of_paper}", address.0.swept(address.1)))
        };
        point.settings.all_given().filter_map(less).collect()
    }
}

/// Returns whether a setting affects what happens in a run, not how often it is made or what is recorded.
fn decides((table, name): &Address) -> bool {
    let is_seen_by = ["seed", "flow_records", "sample_", "trace"].iter().any(|start| name.starts_with(start));
    *table != Table::Section(Section::Report) && !(*table == Table::Section(Section::Run) && is_seen_by)
}
