//! What a stage sees: the fields of the collection, or the columns that a stage before it made.

use malla_queue::{Error, Result};

use super::super::{Collection, Column, Field, Type};
use super::fields::nearest;
use super::json::quoted;

/// Columns that a stage may make.
const COLUMNS_MAX: usize = 100;
/// Names that a refusal lists.
const LISTED_MAX: usize = 30;

pub(super) struct Shape {
    collection: Collection,
    /// Fields that were named while the stages still saw the collection.
    source: Vec<Field>,
    made: Option<Vec<Column>>,
}

/// What a name means.
#[derive(Debug, PartialEq)]
pub(super) enum Found {
    One(usize),
    /// An object: its parts with their place in it.
    Object(Vec<(Vec<String>, usize)>),
}

impl Found {
    /// All columns that are meant, with their place below the name.
    pub(super) fn parts(self) -> Vec<(Vec<String>, usize)> {
        match self {
            Self::One(column) => vec![(Vec::new(), column)],
            Self::Object(parts) => parts,
        }
    }
}

impl Shape {
    pub(super) fn of(collection: Collection) -> Self {
        Self { collection, source: Vec::new(), made: None }
    }

    /// Whether the stages still see the collection itself.
    pub(super) fn is_source(&self) -> bool {
        self.made.is_none()
    }

    /// How many fields of the collection were named.
    pub(super) fn used(&self) -> usize {
        self.source.len()
    }

    pub(super) fn kind(&self, column: usize) -> Type {
        match &self.made {
            Some(columns) => columns[column].kind,
            None => self.source[column].kind(),
        }
    }

    pub(super) fn name(&self, column: usize) -> String {
        match &self.made {
            Some(columns) => columns[column].path.join("."),
            None => self.source[column].name().to_owned(),
        }
    }

    /// The column of a field of the collection.
    pub(super) fn field(&mut self, field: Field) -> usize {
        match self.source.iter().position(|known| *known == field) {
            Some(column) => column,
            None => {
                self.source.push(field);
                self.source.len() - 1
            }
        }
    }

    /// What a name means here. A field of the collection counts as used from now on.
    pub(super) fn find(&mut self, name: &str) -> Option<Found> {
        let Some(columns) = &self.made else {
            let field = self.collection.field(name)?;
            return Some(Found::One(self.field(field)));
        };
        let path: Vec<&str> = name.split('.').collect();
        if let Some(column) = columns.iter().position(|column| column.path == path) {
            return Some(Found::One(column));
        }
        let below =
            |column: &Column| column.path.len() > path.len() && column.path.iter().zip(&path).all(|(a, b)| a == b);
        let parts: Vec<_> = (columns.iter().enumerate())
            .filter(|(_, column)| below(column))
            .map(|(index, column)| (column.path[path.len()..].to_vec(), index))
            .collect();
        (!parts.is_empty()).then_some(Found::Object(parts))
    }

    /// Like [`Self::find`], but what is not there is refused.
    pub(super) fn must_find(&mut self, name: &str) -> Result<Found> {
        self.find(name).ok_or_else(|| self.unknown(name))
    }

    /// A single column, not an object.
    pub(super) fn must_find_one(&mut self, name: &str) -> Result<usize> {
        match self.must_find(name)? {
            Found::One(column) => Ok(column),
            Found::Object(parts) => {
                let names: Vec<_> = parts.iter().map(|(_, column)| self.name(*column)).collect();
                Err(Error::Invalid(format!("{name} is an object: name a part of it, as {}", names.join(" or "))))
            }
        }
    }

    /// The place of everything that there is to see, of the collection what a whole document shows.
    pub(super) fn paths(&self) -> Vec<Vec<String>> {
        match &self.made {
            Some(columns) => columns.iter().map(|column| column.path.clone()).collect(),
            None => self.collection.document().iter().map(|field| vec![field.name().to_owned()]).collect(),
        }
    }

    /// From now on these are the columns.
    pub(super) fn become_made(&mut self, columns: Vec<Column>) -> Result<()> {
        if columns.len() > COLUMNS_MAX {
            return Err(Error::Invalid(format!("it makes {} fields: at most {COLUMNS_MAX}", columns.len())));
        }
        for (index, column) in columns.iter().enumerate() {
            let clashes = |other: &&Column| other.path.iter().zip(&column.path).all(|(a, b)| a == b);
            if let Some(other) = columns[..index].iter().find(clashes) {
                let (one, two) = (other.path.join("."), column.path.join("."));
                return Err(Error::Invalid(format!("{one} and {two} cannot both be made: one is inside of the other")));
            }
        }
        self.made = Some(columns);
        Ok(())
    }

    /// The fields that the first stage sees, and the columns of the answer.
    pub(super) fn finish(self) -> (Vec<Field>, Vec<Column>) {
        (self.source, self.made.unwrap_or_default())
    }

    fn unknown(&self, name: &str) -> Error {
        let names: Vec<String> = match &self.made {
            Some(columns) => columns.iter().map(|column| column.path.join(".")).collect(),
            None => self.collection.document().iter().map(|field| field.name().to_owned()).collect(),
        };
        let place = match self.made {
            Some(_) => "after the stages before".to_owned(),
            None => format!("in {}", self.collection.name()),
        };
        let hint = nearest(name, names.iter().map(String::as_str));
        let listed = names.iter().take(LISTED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
        Error::Invalid(format!("there is no field {} {place}{hint}; there is {listed}", quoted(name)))
    }
}

/// Splits what a field shall be called into its parts.
pub(super) fn new_path(name: &str) -> Result<Vec<String>> {
    let parts: Vec<String> = name.split('.').map(str::to_owned).collect();
    if parts.iter().any(|part| part.is_empty() || part.starts_with('$') || part.contains('\0')) {
        return Err(Error::Invalid(format!(
            "a field cannot be called {}: its name, and each part between dots, must be there and not begin with $",
            quoted(name)
        )));
    }
    Ok(parts)
}

/// The same for a name that has one part.
pub(super) fn new_name(name: &str) -> Result<String> {
    let mut parts = new_path(name)?;
    match parts.pop() {
        Some(part) if parts.is_empty() => Ok(part),
        _ => {
            Err(Error::Invalid(format!("a field that is made here cannot have a dot in its name, as {}", quoted(name))))
        }
    }
}
