-- Version 2: what categories are called, charts that do not exist, counts that came alone.

ALTER TABLE videos ADD COLUMN counted_at INTEGER;

-- What categories are called in a region, as of named.
CREATE TABLE categories (
    region TEXT NOT NULL,
    id     TEXT NOT NULL,                       -- the upstream's, as in videos.category
    name   TEXT NOT NULL,
    PRIMARY KEY (region, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE named (
    region   TEXT    PRIMARY KEY,
    named_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Charts that the upstream said it does not have: not asked for again before until.
CREATE TABLE absent_charts (
    region   TEXT    NOT NULL,
    category TEXT    NOT NULL,                  -- '' is the whole chart
    until    INTEGER NOT NULL,                  -- milliseconds
    PRIMARY KEY (region, category)
) STRICT, WITHOUT ROWID;
