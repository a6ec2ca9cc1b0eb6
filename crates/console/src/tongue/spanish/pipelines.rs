//! Sentences of the language of questions: why a pipeline or a filter of a wiki was refused.
//!
//! At `{inner}` stands a sentence that is said again; a pattern whose inner sentence is not known does not fit.

use super::Pairs;

pub(in crate::tongue) const PATTERNS: Pairs = &[
    ("the pipeline is no JSON: {why}", "la tubería no es JSON: {why}"),
    (
        "a pipeline is a list of stages like {example}, not {stages}",
        "una tubería es una lista de etapas como {example}, no {stages}",
    ),
    ("the pipeline has {count} stages: at most {most}", "la tubería tiene {count} etapas: {most} como máximo"),
    (
        "stage {number}: there is no stage {name} (did you mean {near}?); there are {known}",
        "etapa {number}: no hay una etapa {name} (¿querías decir {near}?); hay {known}",
    ),
    (
        "stage {number}: there is no stage {name}; there are {known}",
        "etapa {number}: no hay una etapa {name}; hay {known}",
    ),
    (
        "stage {number} is an object like {example}, not {stage}",
        "la etapa {number} es un objeto como {example}, no {stage}",
    ),
    (
        "stage {number} has {count} names: a stage is an object with one, like {example}",
        "la etapa {number} tiene {count} nombres: una etapa es un objeto con uno, como {example}",
    ),
    ("stage {number}, {name}: {inner}", "etapa {number}, {name}: {inner}"),
    (
        "it takes an object of fields and what is wanted of them, not {json}",
        "toma un objeto con campos y lo que se quiere de ellos, no {json}",
    ),
    ("it takes an object of fields, not {json}", "toma un objeto con campos, no {json}"),
    ("it takes an object with an _id, not {json}", "toma un objeto con un _id, no {json}"),
    ("it takes an object like {example}, not {json}", "toma un objeto como {example}, no {json}"),
    ("it takes a whole number from {least} on, not {json}", "toma un número entero desde {least}, no {json}"),
    (
        "it takes the name of the field that holds the number, not {json}",
        "toma el nombre del campo que guarda el número, no {json}",
    ),
    ("it sorts by {count} fields: at most {most}", "ordena por {count} campos: {most} como máximo"),
    ("it names no field", "no nombra ningún campo"),
    ("it leaves no field", "no deja ningún campo"),
    ("it names too many fields: at most {most}", "nombra demasiados campos: {most} como máximo"),
    ("it makes {count} fields: at most {most}", "hace {count} campos: {most} como máximo"),
    (
        "it needs an _id: a field like \"$user\", or null for one group of all",
        "necesita un _id: un campo como «$user», o null para un solo grupo de todo",
    ),
    ("its _id is empty: write null for one group of all", "su _id está vacío: escribe null para un solo grupo de todo"),
    ("it is made with an object like {example}, not {json}", "se hace con un objeto como {example}, no {json}"),
    (
        "it is made with one operator like {example}, not {json}",
        "se hace con un solo operador como {example}, no {json}",
    ),
    (
        "{name} is 1 (ascending) or -1 (descending), not {direction}",
        "{name} es 1 (ascendente) o -1 (descendente), no {direction}",
    ),
    ("{name} is a list and cannot be sorted by", "{name} es una lista y no sirve para ordenar"),
    (
        "{name} is a list: it can be matched and shown, not grouped",
        "{name} es una lista: se puede buscar y mostrar, no agrupar",
    ),
    ("{name} takes a list of objects, not {json}", "{name} toma una lista de objetos, no {json}"),
    ("{name} takes a list of values, not {json}", "{name} toma una lista de valores, no {json}"),
    ("{name} has {count} values: at most {most}", "{name} tiene {count} valores: {most} como máximo"),
    (
        "the pipeline has too many conditions: at most {most}",
        "la tubería tiene demasiadas condiciones: {most} como máximo",
    ),
    (
        "the pipeline has too many values in $in: at most {most}",
        "la tubería tiene demasiados valores en $in: {most} como máximo",
    ),
    (
        "the pipeline is nested too deep: at most {most} levels",
        "la tubería está anidada demasiado hondo: {most} niveles como máximo",
    ),
    ("$not takes an object like {example}, not {json}", "$not toma un objeto como {example}, no {json}"),
    ("$exists takes true or false, not {json}", "$exists toma true o false, no {json}"),
    ("$regex takes text, not {json}", "$regex toma texto, no {json}"),
    ("$regex has {count} characters: at most {most}", "$regex tiene {count} caracteres: {most} como máximo"),
    ("$regex {pattern} is too large: repeat less", "$regex {pattern} es demasiado grande: repite menos"),
    ("$regex {pattern} cannot be read: {why}", "$regex {pattern} no se puede leer: {why}"),
    ("$regex cannot be turned round with $not or $nor", "$regex no se puede invertir con $not ni $nor"),
    ("$options takes letters of imsx, not {json}", "$options toma letras de imsx, no {json}"),
    ("$count takes an empty object here", "$count toma aquí un objeto vacío"),
    (
        "$date takes milliseconds since 1970 or an ISO date, not {json}",
        "$date toma milisegundos desde 1970 o una fecha ISO, no {json}",
    ),
    ("$dateToString makes days only: write {example}", "$dateToString solo hace días: escribe {example}"),
    (
        "date_format is too long: at most {most} characters",
        "date_format es demasiado largo: {most} caracteres como máximo",
    ),
    (
        "{operator} takes a number, a text or a date, and {json} is none",
        "{operator} toma un número, un texto o una fecha, y {json} no lo es",
    ),
    ("{operator} takes a number, and {json} is none", "{operator} toma un número, y {json} no lo es"),
    ("{operator} takes a date, and {name} is none", "{operator} toma una fecha, y {name} no lo es"),
    ("{operator} takes a date like {example}, not {json}", "{operator} toma una fecha como {example}, no {json}"),
    (
        "{name} is not known here (did you mean {near}?); there are {known}",
        "{name} no se conoce aquí (¿querías decir {near}?); hay {known}",
    ),
    ("{name} is not known here; there are {known}", "{name} no se conoce aquí; hay {known}"),
    (
        "{name} is not known (did you mean {near}?); there are {known}",
        "{name} no se conoce (¿querías decir {near}?); hay {known}",
    ),
    ("{name} is not known; there are {known}", "{name} no se conoce; hay {known}"),
    ("a constant is text, a number or null, not {json}", "una constante es texto, un número o null, no {json}"),
    ("{text} names no field: variables are not known", "{text} no nombra ningún campo: no hay variables"),
    ("{text} names no field: write {field}", "{text} no nombra ningún campo: escribe {field}"),
    (
        "{name}: fields can be left out with 0 only if no others are asked for",
        "{name}: los campos se quitan con 0 solo si no se piden otros",
    ),
    ("there is no field {name} to leave out", "no hay un campo {name} que quitar"),
    (
        "there is no field {name} after the stages before (did you mean {near}?); there is {known}",
        "no hay un campo {name} tras las etapas anteriores (¿querías decir {near}?); hay {known}",
    ),
    (
        "there is no field {name} after the stages before; there is {known}",
        "no hay un campo {name} tras las etapas anteriores; hay {known}",
    ),
    (
        "there is no field {name} in {collection} (did you mean {near}?); there is {known}",
        "no hay un campo {name} en {collection} (¿querías decir {near}?); hay {known}",
    ),
    (
        "there is no field {name} in {collection}; there is {known}",
        "no hay un campo {name} en {collection}; hay {known}",
    ),
    ("{name} is an object: name a part of it, as {known}", "{name} es un objeto: nombra una parte, como {known}"),
    (
        "{one} and {two} cannot both be made: one is inside of the other",
        "{one} y {two} no se pueden hacer a la vez: uno está dentro del otro",
    ),
    (
        "a field that is made here cannot have a dot in its name, as {name}",
        "un campo que se hace aquí no puede tener un punto en su nombre, como {name}",
    ),
    ("{name} is text: write {number} between quotes", "{name} es texto: escribe {number} entre comillas"),
    (
        "{name} is a list of words: ask for one of them, or for several with $in",
        "{name} es una lista de palabras: pide una de ellas, o varias con $in",
    ),
    (
        "{name} is a revision's text: it can be shown, not compared, sorted or grouped (sha1 can)",
        "{name} es el texto de una revisión: se puede mostrar, no comparar, ordenar ni agrupar (sha1 sí)",
    ),
    ("{name} is {inner}, and cannot be compared with {json}", "{name} es {inner}, y no se puede comparar con {json}"),
    ("a number", "un número"),
    ("text", "texto"),
    ("a list of words", "una lista de palabras"),
    ("a date", "una fecha"),
    ("true, or not there", "true, o no está"),
    // Filters of lists.
    ("{name} cannot be {value}: it is {inner}", "{name} no puede ser {value}: es {inner}"),
    ("asc or desc", "asc o desc"),
    (
        "asc, desc, or a field with a minus in front to turn it round: {names}",
        "asc, desc, o un campo con un menos delante para invertirlo: {names}",
    ),
    ("a number from {least} to {most}", "un número de {least} a {most}"),
    (
        "a day like 2018-03-09 or a moment like 2018-03-09T12:00:00Z",
        "un día como 2018-03-09 o un momento como 2018-03-09T12:00:00Z",
    ),
    ("a day like 2018-03-09", "un día como 2018-03-09"),
    ("a whole number", "un número entero"),
    ("true or false", "true o false"),
    ("a number of bytes", "un número de bytes"),
    ("the same day as datestart or a later one", "el mismo día que datestart o uno posterior"),
    ("a list of at most {most} tags", "una lista de {most} etiquetas como máximo"),
    (
        "a text, which can be shown, not compared: compare sha1",
        "un texto, que se puede mostrar, no comparar: compara sha1",
    ),
    // The last, for it fits almost everything: the name of a field in front of what is wrong with it.
    ("{name}: {inner}", "{name}: {inner}"),
];
