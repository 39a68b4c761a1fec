-- Version 2: what categories are called, charts that do not exist, counts that came alone, backfills; what
-- every sighting of a video changes apart from what seldom does.

CREATE TABLE video_latest (
    id         INTEGER PRIMARY KEY REFERENCES video_facts (id) ON DELETE CASCADE,
    fetched_at INTEGER NOT NULL,                -- what is older than 30 days must go
    seen_at    INTEGER NOT NULL,                -- last found: in a chart, by a search, by a backfill
    views      INTEGER,
    likes      INTEGER,
    comments   INTEGER,
    counted_at INTEGER                          -- when its counts came alone, later than fetched_at; NULL: never
) STRICT;

DROP INDEX videos_fetched;
ALTER TABLE videos RENAME TO video_facts;

INSERT INTO video_latest (id, fetched_at, seen_at, views, likes, comments)
SELECT id, fetched_at, seen_at, views, likes, comments FROM video_facts ORDER BY id;

ALTER TABLE video_facts ADD COLUMN facts_hash INTEGER NOT NULL DEFAULT 0;
ALTER TABLE video_facts ADD COLUMN fetched_day INTEGER NOT NULL DEFAULT 0;
UPDATE video_facts SET fetched_day = fetched_at / 86400000;
ALTER TABLE video_facts DROP COLUMN fetched_at;
ALTER TABLE video_facts DROP COLUMN seen_at;
ALTER TABLE video_facts DROP COLUMN views;
ALTER TABLE video_facts DROP COLUMN likes;
ALTER TABLE video_facts DROP COLUMN comments;

CREATE INDEX videos_fetched ON video_facts (fetched_day);                                 -- refresh, retention

CREATE VIEW videos AS
SELECT id, video_id, title, tags, channel, published_at, duration_s, live, category, language, thumbnail,
       views, likes, comments, fetched_at, seen_at, counted_at, text_hash, fetched_day
FROM video_facts JOIN video_latest USING (id);

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

-- One-off work: a plan that a person made, whose pieces are slots of the job 'backfill/' || name.
CREATE TABLE backfills (
    id           INTEGER PRIMARY KEY AUTOINCREMENT, -- a name is never given twice
    name         TEXT    NOT NULL UNIQUE,
    kind         TEXT    NOT NULL CHECK (kind IN ('uploads', 'search', 'videos', 'refresh')),
    identity     TEXT    NOT NULL,              -- equal for plans that ask for the same
    spec         TEXT    NOT NULL,              -- what was asked for, JSON
    cost_table   TEXT    NOT NULL,              -- that it was priced under
    wait         INTEGER NOT NULL,              -- 1: ingest serve may carry it on
    created_at   INTEGER NOT NULL,
    cancelled_at INTEGER
) STRICT;

-- What a slot has beyond other slots that finds ids first and looks them up then: a piece of a backfill,
-- or a search of the schedule.
CREATE TABLE pieces (
    slot     INTEGER PRIMARY KEY REFERENCES slots (id) ON DELETE CASCADE,
    backfill INTEGER REFERENCES backfills (id), -- NULL: none
    spec     TEXT    NOT NULL DEFAULT '{}',     -- where its ids are found, JSON
    waiting  TEXT    NOT NULL DEFAULT '[]',     -- ids to look up, a JSON array: as many as two calls take, at most
    known    INTEGER NOT NULL DEFAULT 0,        -- ids left out: the video had just been fetched, or they were met before
    again    INTEGER NOT NULL DEFAULT 0         -- pages paid for once more, since the upstream refused its token
) STRICT;

CREATE INDEX pieces_waiting ON pieces (backfill) WHERE waiting <> '[]';                   -- no id waits twice

-- Ids that could not be looked up. reason '' is gone: the upstream left it out of its answer.
CREATE TABLE vanished (
    video_id TEXT    NOT NULL,
    slot     INTEGER NOT NULL REFERENCES slots (id) ON DELETE CASCADE,
    reason   TEXT    NOT NULL,
    noted_at INTEGER NOT NULL,
    PRIMARY KEY (video_id, slot)
) STRICT, WITHOUT ROWID;

CREATE INDEX vanished_slot ON vanished (slot);

-- Pieces of a backfill are series and slots that the schedule never walks.
ALTER TABLE series ADD COLUMN backfill INTEGER REFERENCES backfills (id);
ALTER TABLE series ADD COLUMN place INTEGER;
ALTER TABLE slots ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;

DROP INDEX series_open;
DROP INDEX slots_due;

CREATE INDEX series_open ON series (fresh_at, open, job, key) WHERE open IS NOT NULL AND backfill IS NULL; -- claim
CREATE INDEX series_schedule ON series (job, key, newest) WHERE backfill IS NULL;         -- what is known
CREATE INDEX series_backfill ON series (backfill, open, place) WHERE backfill IS NOT NULL; -- claim, status
CREATE INDEX slots_due ON slots (due_at) WHERE kind <> 'backfill';                        -- reports, retention

INSERT INTO video_text (video_text, rank) VALUES ('automerge', 8);
