-- Version 7: which videos a series may have placed, those of thousands of ids in a row. Go fills it.

CREATE TABLE charted_blocks (
    bit   INTEGER NOT NULL,                     -- from 0 to 62
    block INTEGER NOT NULL,
    bits  BLOB    NOT NULL,                     -- 512 bytes
    PRIMARY KEY (bit, block)
) STRICT, WITHOUT ROWID;
