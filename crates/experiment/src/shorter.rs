//! What a smaller scale makes shorter or smaller than the file says: the difference between runs and the paper's.

use crate::document::Document;
use crate::error::Error;
use crate::points::{self, Point};
use crate::scale::Scale;
use flowsieve_settings::{Address, Origin, Section, Table, Value};

/// The points as the file says them.
pub(crate) struct Whole(Vec<Point>);

impl Whole {
    /// Those of a document before a scale has changed it. Of the paper's own scale there is no difference to tell.
    pub(crate) fn of(document: &Document, scale: Scale, builtin: &[&str]) -> Result<Whole, Error> {
        if scale == Scale::Paper {
            return Ok(Whole(Vec::new()));
        }
        let mut document = document.clone();
        let table = Scale::Paper.choose(&mut document)?;
        let mut points = points::points(&document, builtin)?;
        if let Some(table) = table {
            table.give_flows(&mut points, false)?;
            table.shorten(&mut points, &mut document.claims.measured)?;
        }
        Ok(Whole(points))
    }

    /// What a point has less of than the one of the same scheme and sweep, or than any of its scheme where the scale
    /// sweeps something else. What the command line says is no matter of the scale, and what is swept none of its length.
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

/// Whether a setting decides what happens in a run, and not how often it is made or what is seen of it.
fn decides((table, name): &Address) -> bool {
    let is_seen_by = ["seed", "flow_records", "sample_", "trace"].iter().any(|start| name.starts_with(start));
    *table != Table::Section(Section::Report) && !(*table == Table::Section(Section::Run) && is_seen_by)
}
