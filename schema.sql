-- The store, ingest.db: what was charted where and when, and every slot with its outcome.
--
-- Written by package store alone. Readable by anything that reads SQLite 3.43 or newer:
--   PRAGMA application_id = 0x696E6774 ("ingt"), PRAGMA user_version = the version of this schema.
--
-- Units, everywhere:
--   due_at, first_due_at, newest, open, published_at   seconds since 1970-01-01 UTC
--   lease and every other *_at           milliseconds since 1970-01-01 UTC
--   duration_s                           seconds
-- NULL is "not known" or "never"; a count is NULL where the upstream withholds it, which is not 0.

-- Facts about the store itself. name 'upstream': the host that all its data comes from.
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- A series is one key of one job: the region of a chart, '' where a job has no regions.
--
-- newest and open repeat what its slots say, and fresh_at outlives them: so the next slot to claim is
-- the first that fits in series_open, however many wait. Every write of a slot's state keeps them up to date.
--
-- A piece of a backfill is a series of one slot, which has its backfill here and its place among the
-- others, a whole number. It has indexes of its own: what the schedule walks holds no piece.
CREATE TABLE series (
    id       INTEGER PRIMARY KEY,
    job      TEXT    NOT NULL,
    key      TEXT    NOT NULL,
    newest   INTEGER NOT NULL,                  -- due_at of its newest slot, in whatever state
    open     INTEGER,                           -- due_at of its slot that is or may yet be claimed; NULL: none
    fresh_at INTEGER,                           -- when a slot of it was last done; NULL: never
    backfill INTEGER REFERENCES backfills (id), -- NULL: a series of the schedule
    place    INTEGER,                           -- from low to high, or the reverse; NULL unless of a backfill
    UNIQUE (job, key)
) STRICT;

CREATE INDEX series_open ON series (fresh_at, open, job, key) WHERE open IS NOT NULL AND backfill IS NULL; -- claim
CREATE INDEX series_schedule ON series (key, job, newest) WHERE backfill IS NULL;         -- what is known
CREATE INDEX series_backfill ON series (backfill, open, place) WHERE backfill IS NOT NULL; -- claim, status

-- Everything that must happen once, and what became of it. A slot begins as due (or missed), is
-- claimed, and ends as done, stopped, failed, skipped or missed.
--
-- owner and attempt are the fence: who claimed the slot, and how often it has been claimed. A write
-- counts only while the row is claimed and carries both. From lease on another run may claim it, and
-- until then no other slot of its series may be claimed.
CREATE TABLE slots (
    id         INTEGER PRIMARY KEY,
    series     INTEGER NOT NULL REFERENCES series (id),
    due_at     INTEGER NOT NULL,
    kind       TEXT    NOT NULL,                -- 'chart', 'search', 'refresh', 'backfill'
    state      TEXT    NOT NULL CHECK (state IN ('due', 'claimed', 'done', 'stopped', 'failed', 'skipped', 'missed')),
    owner      TEXT    NOT NULL DEFAULT '',
    attempt    INTEGER NOT NULL DEFAULT 0,
    lease      INTEGER,                         -- NULL unless claimed
    token      TEXT    NOT NULL DEFAULT '',     -- of the next page; '' is page 1
    token_at   INTEGER,
    pages      INTEGER NOT NULL DEFAULT 0,      -- saved so far, by the attempt that the placements are of
    videos     INTEGER NOT NULL DEFAULT 0,
    units      INTEGER NOT NULL DEFAULT 0,      -- charged, over all attempts: of each call what it cost in its most expensive pool
    charges    TEXT,                            -- pool -> amount charged, over all attempts, a JSON object; NULL: nothing was
    reason     TEXT    NOT NULL DEFAULT '',     -- why it is not done, frozen when it ended
    retry_at   INTEGER,                         -- advice, not a gate
    fetched_at INTEGER,                         -- when its last page was saved
    tries      INTEGER NOT NULL DEFAULT 0,      -- claims in a row that brought nothing, but for quota's and a stop's
    count      INTEGER NOT NULL DEFAULT 1,      -- ticks of a missed slot: all in a row for which nothing ran
    first_due_at INTEGER,                       -- of the first of them, due_at being that of the last; NULL: of one
    UNIQUE (series, due_at)
) STRICT;

CREATE INDEX slots_claimed ON slots (series, lease) WHERE state = 'claimed';              -- never two of a series
CREATE INDEX slots_due ON slots (due_at) WHERE kind <> 'backfill';                        -- reports, retention

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
    cancelled_at INTEGER,
    ready        INTEGER NOT NULL DEFAULT 1,    -- 0: its pieces are still being added, and nobody sees it
    confirmed    TEXT    NOT NULL DEFAULT 'null', -- pool -> what a person agreed to spend on it in all, JSON; null: nobody was asked
    charged      TEXT    NOT NULL DEFAULT '{}'   -- pool -> what its slots were charged in all, JSON
) STRICT;

-- What a slot has beyond other slots that finds ids first and looks them up then: a piece of a backfill,
-- or a search of the schedule.
CREATE TABLE pieces (
    slot     INTEGER PRIMARY KEY REFERENCES slots (id) ON DELETE CASCADE,
    backfill INTEGER REFERENCES backfills (id), -- NULL: none
    spec     TEXT    NOT NULL DEFAULT '{}',     -- where its ids are found, JSON
    waiting  TEXT    NOT NULL DEFAULT '[]',     -- ids to look up, a JSON array: as many as two calls take, at most
    known    INTEGER NOT NULL DEFAULT 0,        -- ids left out: the video had just been fetched, or they were met before
    again    INTEGER NOT NULL DEFAULT 0,        -- pages paid for once more, since the upstream refused its token
    listing  TEXT    NOT NULL DEFAULT '{}',     -- what its pages said, and what it lacks, JSON
    unsaved  INTEGER NOT NULL DEFAULT 0,        -- units of the call in flight, part of the slot's
    lost     INTEGER NOT NULL DEFAULT 0         -- units of calls in flight when a run died, part of the slot's
) STRICT;

CREATE INDEX pieces_waiting ON pieces (backfill) WHERE waiting <> '[]';                   -- no id waits twice
CREATE INDEX pieces_lacking ON pieces (slot) WHERE listing <> '{}' AND coalesce(listing ->> 'lack', '') <> ''; -- reports

-- Ids that could not be looked up. reason '' is gone: the upstream left it out of its answer.
CREATE TABLE vanished (
    video_id TEXT    NOT NULL,
    slot     INTEGER NOT NULL REFERENCES slots (id) ON DELETE CASCADE,
    reason   TEXT    NOT NULL,
    noted_at INTEGER NOT NULL,
    PRIMARY KEY (video_id, slot)
) STRICT, WITHOUT ROWID;

CREATE INDEX vanished_slot ON vanished (slot);

-- Channels, for their present name. One without videos is deleted.
CREATE TABLE channels (
    id         INTEGER PRIMARY KEY,
    channel_id TEXT NOT NULL UNIQUE,            -- the upstream's
    title      TEXT NOT NULL
) STRICT;

-- Videos as they were last fetched, all text as the upstream gave it: the view videos. What every sighting
-- changes is kept apart from what seldom changes, in rows a tenth as long. A larger id was met later.
--
-- fetched_at and seen_at: a video is fetched whenever the upstream gives all of it, and seen when it is found
-- then, in a chart, by a search or by a backfill. To ask again for a video that the store has, as a refresh does,
-- fetches it and is no sighting; to ask for its counts alone is neither. What was not seen within 29 days is not
-- refreshed any more; --seen-since and the order by freshness go by seen_at. Upkeep says otherwise for what a backfill has
-- found: the last one that was asked to keep its videos fresh or to let them go decides, and a sighting by anything
-- else makes an ordinary video of one that is let go.
CREATE TABLE video_facts (
    id           INTEGER PRIMARY KEY,           -- also the rowid in video_text
    video_id     TEXT    NOT NULL UNIQUE,       -- the upstream's
    text_hash    INTEGER NOT NULL,              -- of title, channel and tags: an equal hash leaves video_text alone
    facts_hash   INTEGER NOT NULL DEFAULT 0,    -- of that and what follows: an equal hash leaves this row alone; 0: not known
    fetched_day  INTEGER NOT NULL DEFAULT 0,    -- days since 1970 UTC: not later than that of fetched_at
    channel      INTEGER REFERENCES channels (id),
    published_at INTEGER,
    duration_s   INTEGER NOT NULL DEFAULT 0,    -- 0 while live
    live         INTEGER NOT NULL DEFAULT 0,    -- 1: a live or upcoming broadcast
    category     TEXT    NOT NULL DEFAULT '',
    language     TEXT    NOT NULL DEFAULT '',
    thumbnail    TEXT    NOT NULL DEFAULT '',
    title        TEXT    NOT NULL,
    tags         TEXT    NOT NULL DEFAULT '[]'  -- a JSON array of strings, in the upstream's order
) STRICT;

CREATE INDEX videos_channel ON video_facts (channel);
CREATE INDEX videos_fetched ON video_facts (fetched_day);                                 -- refresh, retention

CREATE TABLE video_latest (
    id         INTEGER PRIMARY KEY REFERENCES video_facts (id) ON DELETE CASCADE,
    fetched_at INTEGER NOT NULL,                -- what is older than 29 days must go
    seen_at    INTEGER NOT NULL,                -- when it was last found: see above
    views      INTEGER,
    likes      INTEGER,
    comments   INTEGER,
    counted_at INTEGER,                         -- when its counts came alone, later than fetched_at; NULL: never
    upkeep     INTEGER                          -- 1: refreshed though it is not seen; 0: never refreshed; NULL: while seen
) STRICT;

-- What a search must know to choose among thousands of matches without reading a row for each. A row of series 0 holds a
-- byte for each of 2,048 videos: that of video id is byte id % 2048 in block id / 2048. Its high four bits say how much the
-- video is watched: 0 below 10 views or if unknown, 1 from 10 on, and one more whenever the views are 4.26 times as many (e
-- to the power of 1.45). Its low four bits are those of a hash of the category. A row of any other series holds a bit for
-- each, bit id % 8 of byte id % 2048 / 8: a video without it, or without a row, was placed by none of the series' charts.
CREATE TABLE video_blocks (
    id    INTEGER PRIMARY KEY,                  -- the series times 2 to the power of 32, plus the block
    bytes BLOB NOT NULL                         -- 2,048 or 256
) STRICT;

CREATE VIEW videos AS
SELECT id, video_id, title, tags, channel, published_at, duration_s, live, category, language, thumbnail,
       views, likes, comments, fetched_at, seen_at, counted_at, upkeep, text_hash, fetched_day
FROM video_facts JOIN video_latest USING (id);

-- One row per place in a chart: in the chart of this slot, the video had this rank and these counts.
-- Series repeats what the slot says, so that "was this video ever charted in this region" is one
-- look into placements_video, which also keeps a video from having two ranks in a slot.
CREATE TABLE placements (
    slot     INTEGER NOT NULL REFERENCES slots (id),
    rank     INTEGER NOT NULL,                  -- from 1, over all pages of the slot
    video    INTEGER NOT NULL REFERENCES video_facts (id),
    series   INTEGER NOT NULL,
    views    INTEGER,
    likes    INTEGER,
    comments INTEGER,
    PRIMARY KEY (slot, rank)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX placements_video ON placements (video, series, slot);

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

-- The index. It keeps no text; its text is that of videos and channels after text.Normalize, which
-- has folded it and cut it into tokens, so that the tokenizer only parts them at the spaces. The
-- categories keep the vowel signs of Hindi and Tamil (Mn, Mc) and emoji (So) inside their tokens.
-- Beginnings of one to three characters, as somebody types them, or one Chinese character, have lists of their own: else
-- the lists of all words with that beginning are merged first.
CREATE VIRTUAL TABLE video_text USING fts5 (
    title, channel, tags,
    content = '', contentless_delete = 1,
    prefix = '1 2 3',
    tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc So'"
);

-- The words of the index, and how many videos have each: a view of it.
CREATE VIRTUAL TABLE video_words USING fts5vocab (video_text, row);

-- Where each word stands in which video: doctor compares it with the videos.
CREATE VIRTUAL TABLE video_places USING fts5vocab (video_text, instance);

-- Eight segments of a size are merged, not four, into one of the next: a page with a new title costs a sixth
-- less, and a search no more.
INSERT INTO video_text (video_text, rank) VALUES ('automerge', 8);
