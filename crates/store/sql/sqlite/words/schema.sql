-- Which events have which words; rowid is the event's id. The program cuts bodies into words (lower case, letters and
-- digits, so that a word, a number, an id, each part of a UUID or of an e-mail address is one) and gives them parted by
-- spaces: `ascii` takes them as they come. Only "is it there" is asked, so no places are kept, nor the text.
CREATE VIRTUAL TABLE event_words USING fts5 (words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');

-- How far that has come (events up to this id), and of which store.
CREATE TABLE event_index (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    mark     INTEGER NOT NULL,
    identity TEXT    NOT NULL
) STRICT;
