//! Configuration: built-in defaults, then a file, then variables, then flags; every value knows where it came from.
//!
//! This is the one place that reads the environment. What the keys mean stands in `defaults.toml`.

mod check;
mod keys;
mod settings;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use figment::providers::{Format as _, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};

pub(crate) use self::check::masked_url;
use self::check::settle;
use self::keys::{known, leaves, unknown, variable};
pub(crate) use self::settings::{
    Analyze as AnalyzeSettings, Config, Credit as CreditSettings, Fetch as FetchSettings, Log, LogFormat, Tls,
    Wiki as WikiSettings,
};

const DEFAULTS: &str = include_str!("../defaults.toml");
const FILE: &str = "malla.toml";
const PREFIX: &str = "MALLA_";
/// Variables that are no settings: they choose the server for the commands, or belong to the tests.
const NOT_SETTINGS: [&str; 5] =
    ["MALLA_CONFIG", "MALLA_SERVER", "MALLA_TOKEN", "MALLA_CRASH_AT", "MALLA_CRASH_NEXT_VERSION"];

/// What a flag of the command line says about a key.
#[derive(Debug, Clone)]
pub(crate) struct Flag {
    pub key: &'static str,
    /// `--data`
    pub name: &'static str,
    pub value: String,
}

impl Flag {
    /// The variable that would say the same, for a process of this program that is started with it.
    pub(crate) fn variable(&self) -> String {
        variable(self.key)
    }
}

/// The layers above the defaults, lowest first.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    pub file: Option<(PathBuf, String)>,
    pub variables: Vec<(String, String)>,
    pub flags: Vec<Flag>,
}

/// What is wrong with the configuration, in one sentence.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub(crate) struct Wrong {
    text: String,
    /// It was said on the command line: wrong usage rather than a wrong installation.
    pub usage: bool,
}

impl Wrong {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), usage: false }
    }
}

/// All values with their sources.
#[derive(Debug)]
pub(crate) struct Loaded {
    figment: Figment,
}

/// A value and where it came from, fit to be shown.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub(crate) struct Shown {
    pub key: String,
    pub value: serde_json::Value,
    pub source: String,
}

impl Shown {
    pub(crate) fn for_console(&self) -> malla_console::Setting {
        let value = match &self.value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        malla_console::Setting { key: self.key.clone(), value, source: self.source.clone() }
    }
}

impl Sources {
    /// Reads the file and the environment.
    pub(crate) fn gather(file: Option<&Path>, flags: Vec<Flag>) -> Result<Self, Wrong> {
        let read = |path: &Path| {
            std::fs::read_to_string(path)
                .map_err(|error| (error.kind(), format!("cannot read {}: {error}", path.display())))
        };
        let file = match file {
            Some(path) => Some((path.to_owned(), read(path).map_err(|(_, text)| Wrong::new(text))?)),
            None => match read(Path::new(FILE)) {
                Ok(text) => Some((FILE.into(), text)),
                Err((std::io::ErrorKind::NotFound, _)) => None,
                Err((_, text)) => return Err(Wrong::new(text)),
            },
        };
        Ok(Self { file, variables: variables()?, flags })
    }

    /// Nothing but what the variables say about the log.
    pub(crate) fn log_variables() -> Result<Self, Wrong> {
        let mut variables = variables()?;
        variables.retain(|(name, _)| name.starts_with("MALLA_LOG_"));
        Ok(Self { variables, ..Self::default() })
    }
}

fn variables() -> Result<Vec<(String, String)>, Wrong> {
    let mut variables = Vec::new();
    for (name, value) in std::env::vars_os() {
        let Some(name) = name.to_str().filter(|name| is_setting(name)) else { continue };
        let value = value.into_string().map_err(|_| Wrong::new(format!("the variable {name} is not valid UTF-8")))?;
        variables.push((name.to_owned(), value));
    }
    variables.sort();
    Ok(variables)
}

/// Kubernetes and container links describe a service called "malla" in variables of their own.
fn is_setting(variable: &str) -> bool {
    let rest = variable.strip_prefix(PREFIX);
    let foreign = |rest: &str| rest == "PORT" || rest.starts_with("PORT_") || rest.starts_with("SERVICE_");
    rest.is_some_and(|rest| !foreign(rest)) && !NOT_SETTINGS.contains(&variable)
}

/// Puts the layers on each other, each checked on its own so that a mistake is named even if a later layer hides it.
pub(crate) fn load(sources: Sources) -> Result<Loaded, Wrong> {
    let defaults = known();
    let mut figment = Figment::from(Layer::new("default", toml_dict(DEFAULTS, "the defaults")?));
    if let Some((path, text)) = &sources.file {
        let source = format!("file {}", path.display());
        let mut layer = Dict::new();
        for (key, value) in leaves(&toml_dict(text, &path.display().to_string())?) {
            let default = defaults.get(&key).ok_or_else(|| Wrong::new(unknown(&key, &source, &defaults)))?;
            let value = settle(&key, default, value).map_err(|why| Wrong::new(format!("{source}: {why}")))?;
            layer = nested(layer, &key, value);
        }
        figment = figment.merge(Layer::new(source, layer));
    }
    for (name, text) in sources.variables {
        let source = format!("variable {name}");
        let (key, default) = defaults
            .iter()
            .find(|(key, _)| variable(key) == name)
            .ok_or_else(|| Wrong::new(keys::unknown_variable(&name, &defaults)))?;
        let value = settle(key, default, Value::from(text)).map_err(|why| Wrong::new(format!("{source}: {why}")))?;
        figment = figment.merge(Layer::new(source, nested(Dict::new(), key, value)));
    }
    for Flag { key, name, value } in sources.flags {
        let source = format!("flag {name}");
        let default = defaults.get(key).expect("flags are made for known keys");
        let value = settle(key, default, Value::from(value))
            .map_err(|why| Wrong { text: format!("{source}: {why}"), usage: true })?;
        figment = figment.merge(Layer::new(source, nested(Dict::new(), key, value)));
    }
    Ok(Loaded { figment })
}

impl Loaded {
    pub(crate) fn config(&self) -> Result<Config, Wrong> {
        let mut config: Config = self.figment.extract().map_err(|error| Wrong::new(error.to_string()))?;
        config.check().map_err(Wrong::new)?;
        config.shown = self.shown();
        Ok(config)
    }

    /// Every value in the order of the keys, secrets masked.
    pub(crate) fn shown(&self) -> Vec<Shown> {
        let show = |key: String| {
            let source = self.figment.find_metadata(&key).map_or("default".into(), |from| from.name.to_string());
            let value = self.figment.find_value(&key).ok()?;
            let value = serde_json::to_value(check::masked(&key, value)).ok()?;
            Some(Shown { key, value, source })
        };
        known().into_keys().filter_map(show).collect()
    }
}

/// One source's values.
struct Layer {
    source: String,
    values: Dict,
}

impl Layer {
    fn new(source: impl Into<String>, values: Dict) -> Self {
        Self { source: source.into(), values }
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.source.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Profile::Default.collect(self.values.clone()))
    }
}

fn toml_dict(text: &str, name: &str) -> Result<Dict, Wrong> {
    let mut profiles = Toml::string(text)
        .data()
        .map_err(|error| Wrong::new(format!("{name} is not valid TOML: {}", error.to_string().trim())))?;
    Ok(profiles.remove(&Profile::Default).unwrap_or_default())
}

fn nested(mut dict: Dict, key: &str, value: Value) -> Dict {
    match key.split_once('.') {
        None => drop(dict.insert(key.to_owned(), value)),
        Some((section, rest)) => {
            let inner = dict.remove(section).and_then(Value::into_dict).unwrap_or_default();
            dict.insert(section.to_owned(), Value::from(nested(inner, rest, value)));
        }
    }
    dict
}
