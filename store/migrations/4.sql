-- Version 4: the index has beginnings of two and three characters too, and its words can be read. Go fills it.

DROP TABLE video_text;

CREATE VIRTUAL TABLE video_text USING fts5 (
    title, channel, tags,
    content = '', contentless_delete = 1,
    prefix = '1 2 3',
    tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc So'"
);

CREATE VIRTUAL TABLE video_words USING fts5vocab (video_text, row);

INSERT INTO video_text (video_text, rank) VALUES ('automerge', 8);
