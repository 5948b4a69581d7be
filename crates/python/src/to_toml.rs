//! A dict of Python as the text of an experiment file.

use crate::errors::wrong;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value};

/// Dicts within dicts are read this deep; experiments need three.
const DEEPEST: usize = 16;

/// The text of an experiment, with tables where there are dicts.
pub(crate) fn document(dict: &Bound<'_, PyDict>) -> PyResult<String> {
    let mut document = DocumentMut::new();
    fill(document.as_table_mut(), dict, "", 0)?;
    Ok(document.to_string())
}

fn fill(table: &mut Table, dict: &Bound<'_, PyDict>, path: &str, depth: usize) -> PyResult<()> {
    for (key, value) in dict {
        let name = key_of(&key, path)?;
        let path = join(path, &name);
        if depth > DEEPEST {
            return Err(wrong(dict.py(), &format!("`{path}` is too deep for an experiment")));
        }
        let item = match value.cast::<PyDict>() {
            Ok(inner) => {
                let mut table = Table::new();
                fill(&mut table, inner, &path, depth + 1)?;
                Item::Table(table)
            }
            Err(_) => match tables(&value, &path, depth)? {
                Some(tables) => Item::ArrayOfTables(tables),
                None => Item::Value(value_of(&value, &path, depth)?),
            },
        };
        table.insert(&name, item);
    }
    Ok(())
}

/// A list of dicts, which is `[[name]]` in a file.
fn tables(value: &Bound<'_, PyAny>, path: &str, depth: usize) -> PyResult<Option<ArrayOfTables>> {
    let Ok(list) = value.cast::<PyList>() else { return Ok(None) };
    if list.is_empty() || !list.iter().all(|item| item.is_instance_of::<PyDict>()) {
        return Ok(None);
    }
    let mut tables = ArrayOfTables::new();
    for (index, item) in list.iter().enumerate() {
        let mut table = Table::new();
        if let Ok(dict) = item.cast::<PyDict>() {
            fill(&mut table, dict, &format!("{path}.{index}"), depth + 1)?;
        }
        tables.push(table);
    }
    Ok(Some(tables))
}

/// A value as it stands in a file.
pub(crate) fn value_of(value: &Bound<'_, PyAny>, path: &str, depth: usize) -> PyResult<Value> {
    let py = value.py();
    let refuse =
        |what: &str| wrong(py, &format!("`{path}` is {what}; expected a number, a text, True, False or a list"));
    if depth > DEEPEST {
        return Err(wrong(py, &format!("`{path}` is too deep for an experiment")));
    }
    if value.is_none() {
        return Err(wrong(py, &format!("`{path}` is None; leave it out to use its default")));
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(value.extract::<bool>()?.into());
    }
    if value.is_instance_of::<PyInt>() {
        let number = value.extract::<i64>().map_err(|_| refuse("a whole number beyond 64 bits"))?;
        return Ok(number.into());
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(value.extract::<f64>()?.into());
    }
    if value.is_instance_of::<PyString>() {
        return Ok(value.extract::<String>()?.into());
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let mut array = Array::new();
        for (index, item) in value.try_iter()?.enumerate() {
            array.push(value_of(&item?, &format!("{path}[{index}]"), depth + 1)?);
        }
        return Ok(array.into());
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let mut table = InlineTable::new();
        for (key, inner) in dict {
            let name = key_of(&key, path)?;
            table.insert(&name, value_of(&inner, &join(path, &name), depth + 1)?);
        }
        return Ok(table.into());
    }
    // Paths; then numbers and arrays of numpy and its like.
    for (method, name) in [("__fspath__", "a path"), ("tolist", "an array"), ("item", "a scalar")] {
        if value.hasattr(method)? {
            let plain = value.call_method0(method).map_err(|_| refuse(name))?;
            if plain.get_type().is(value.get_type()) {
                break;
            }
            return value_of(&plain, path, depth + 1);
        }
    }
    Err(refuse(&format!("of the type {}", value.get_type().name()?)))
}

fn key_of(key: &Bound<'_, PyAny>, path: &str) -> PyResult<String> {
    key.extract::<String>().map_err(|_| {
        let at = if path.is_empty() { "the experiment".to_owned() } else { format!("`{path}`") };
        wrong(key.py(), &format!("{at} has a key that is not a text"))
    })
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// What `--set` takes for a value: several of a list that is not for a key of lists make a sweep.
pub(crate) fn set(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let several = match value_of(value, name, 0)? {
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        one => plain(&one),
    };
    Ok(format!("{name}={several}"))
}

/// Writes a value as you would type it: texts without quotes if they can be nothing else.
fn plain(value: &Value) -> String {
    let bare = |text: &str| {
        let mut letters = text.chars();
        letters.all(|letter| letter.is_ascii_alphanumeric() || "-_./%".contains(letter))
            && text.parse::<f64>().is_err()
            && !["true", "false", ""].contains(&text)
    };
    match value {
        Value::String(text) if bare(text.value()) => text.value().clone(),
        other => other.clone().decorated("", "").to_string(),
    }
}
