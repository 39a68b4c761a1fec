-- The peer "naive": the look of a first design. The index keeps a copy of its text, cut into words by SQLite's own
-- tokenizer.
CREATE TABLE videos (
    video_id     TEXT PRIMARY KEY,
    fetched_at   INTEGER NOT NULL,
    seen_at      INTEGER NOT NULL,
    views        INTEGER,
    likes        INTEGER,
    comments     INTEGER,
    published_at INTEGER,
    duration_s   INTEGER NOT NULL,
    live         INTEGER NOT NULL,
    category     TEXT NOT NULL,
    language     TEXT NOT NULL,
    thumbnail    TEXT NOT NULL,
    title        TEXT NOT NULL,
    channel      TEXT NOT NULL,
    channel_id   TEXT NOT NULL,
    tags         TEXT NOT NULL
);

CREATE TABLE placements (
    slot     INTEGER NOT NULL,
    rank     INTEGER NOT NULL,
    video_id TEXT    NOT NULL,
    views    INTEGER,
    likes    INTEGER,
    comments INTEGER,
    PRIMARY KEY (slot, rank)
);

CREATE INDEX placements_video ON placements (video_id);

CREATE VIRTUAL TABLE video_text USING fts5 (title, channel, tags);
