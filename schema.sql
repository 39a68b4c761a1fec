-- The store, ingest.db: charted videos with place and time, and every slot with its outcome.
--
-- Only package store writes it. Readable by SQLite 3.43 or newer:
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

-- A series is one key of one job: the region of a chart, '' for a job without regions.
--
-- newest and open repeat data of its slots, and fresh_at outlives them, so that the next slot to claim is the first
-- match in series_open, however many wait. Every write of a slot's state updates them.
--
-- A piece of a backfill is a series of one slot, with its backfill and its place among the others, a whole number. Its
-- indexes are separate: the schedule's indexes hold no pieces.
CREATE TABLE series (
    id       INTEGER PRIMARY KEY,
    job      TEXT    NOT NULL,
    key      TEXT    NOT NULL,
    newest   INTEGER NOT NULL,                  -- due_at of its newest slot, in any state
    open     INTEGER,                           -- due_at of its slot that is or may be claimed; NULL: none
    fresh_at INTEGER,                           -- when a slot of it was last done; NULL: never
    backfill INTEGER REFERENCES backfills (id), -- NULL: a series of the schedule
    place    INTEGER,                           -- pieces go by it, up or down; NULL without a backfill
    UNIQUE (job, key)
) STRICT;

CREATE INDEX series_open ON series (fresh_at, open, job, key) WHERE open IS NOT NULL AND backfill IS NULL; -- claim
CREATE INDEX series_schedule ON series (key, job, newest) WHERE backfill IS NULL;         -- known due times
CREATE INDEX series_backfill ON series (backfill, open, place) WHERE backfill IS NOT NULL; -- claim, status

-- All work that must happen once, and its outcome. A slot begins as due (or missed), is claimed, and ends as done,
-- stopped, failed, skipped or missed.
--
-- owner and attempt are the fence: who claimed the slot, and how often it was claimed. A write counts only while the
-- row is claimed with both. From lease on another run may claim it; until then no other slot of its series may be
-- claimed.
CREATE TABLE slots (
    id         INTEGER PRIMARY KEY,
    series     INTEGER NOT NULL REFERENCES series (id),
    due_at     INTEGER NOT NULL,
    kind       TEXT    NOT NULL,                -- 'chart', 'search', 'uploads', 'videos', 'refresh', 'backfill'
    state      TEXT    NOT NULL CHECK (state IN ('due', 'claimed', 'done', 'stopped', 'failed', 'skipped', 'missed')),
    owner      TEXT    NOT NULL DEFAULT '',
    attempt    INTEGER NOT NULL DEFAULT 0,
    lease      INTEGER,                         -- NULL unless claimed
    token      TEXT    NOT NULL DEFAULT '',     -- of the next page; '' is page 1
    token_at   INTEGER,
    pages      INTEGER NOT NULL DEFAULT 0,      -- saved so far, by the attempt that wrote the placements
    videos     INTEGER NOT NULL DEFAULT 0,
    units      INTEGER NOT NULL DEFAULT 0,      -- charged, over all attempts: for each call its cost in its most expensive pool
    charges    TEXT,                            -- pool -> amount charged, over all attempts, a JSON object; NULL: nothing was
    emergency  TEXT,                            -- the part of charges that drew on a machine's emergency budget
    reason     TEXT    NOT NULL DEFAULT '',     -- why it is not done, as of its end
    retry_at   INTEGER,                         -- advice, not a gate
    fetched_at INTEGER,                         -- when its last page was saved
    tries      INTEGER NOT NULL DEFAULT 0,      -- claims in a row that brought nothing, unless ended by quota or a stop
    usual      INTEGER NOT NULL DEFAULT 0,      -- of a done chart: the median of the videos of the last ten before it that had any; 0: unknown
    count      INTEGER NOT NULL DEFAULT 1,      -- consecutive ticks of a missed slot
    first_due_at INTEGER,                       -- of the first of these, as due_at is of the last; NULL: one tick
    UNIQUE (series, due_at)
) STRICT;

CREATE INDEX slots_claimed ON slots (series, lease) WHERE state = 'claimed';              -- at most one of a series
CREATE INDEX slots_due ON slots (due_at) WHERE kind <> 'backfill';                        -- reports, retention

-- One-off work: a person's plan, whose pieces are slots of the job 'backfill/' || name.
CREATE TABLE backfills (
    id           INTEGER PRIMARY KEY AUTOINCREMENT, -- a name is never given twice
    name         TEXT    NOT NULL UNIQUE,
    kind         TEXT    NOT NULL CHECK (kind IN ('uploads', 'search', 'videos', 'refresh')),
    identity     TEXT    NOT NULL,              -- equal for plans with the same request
    spec         TEXT    NOT NULL,              -- the request, JSON
    cost_table   TEXT    NOT NULL,              -- its prices
    wait         INTEGER NOT NULL,              -- 1: ingest serve may carry it on
    created_at   INTEGER NOT NULL,
    cancelled_at INTEGER,
    ready        INTEGER NOT NULL DEFAULT 1,    -- 0: invisible, as its pieces are still being added
    confirmed    TEXT    NOT NULL DEFAULT 'null', -- pool -> the most that a person agreed to spend on it, JSON; null: without a request
    charged      TEXT    NOT NULL DEFAULT '{}'   -- pool -> total charged to its slots, JSON
) STRICT;

-- Extra data of slots that first find ids and then look them up: pieces of backfills, and scheduled searches.
CREATE TABLE pieces (
    slot     INTEGER PRIMARY KEY REFERENCES slots (id) ON DELETE CASCADE,
    backfill INTEGER REFERENCES backfills (id), -- NULL: none
    spec     TEXT    NOT NULL DEFAULT '{}',     -- where its ids are found, JSON
    waiting  TEXT    NOT NULL DEFAULT '[]',     -- ids to look up, a JSON array: at most as many as two calls take
    known    INTEGER NOT NULL DEFAULT 0,        -- ids skipped: the video was just fetched, or the id was found before
    again    INTEGER NOT NULL DEFAULT 0,        -- pages paid for again, because the upstream refused a token
    listing  TEXT    NOT NULL DEFAULT '{}',     -- ingest.Listing, JSON
    unsaved  INTEGER NOT NULL DEFAULT 0,        -- units of the call in flight, part of slots.units
    lost     INTEGER NOT NULL DEFAULT 0         -- units of calls in flight when a run died, part of slots.units
) STRICT;

CREATE INDEX pieces_waiting ON pieces (backfill) WHERE waiting <> '[]';                   -- no id waits twice
CREATE INDEX pieces_lacking ON pieces (slot) WHERE listing <> '{}' AND coalesce(listing ->> 'lack', '') <> ''; -- reports

-- Ids that could not be looked up. With reason '' the video is gone: the upstream left it out of its answer.
CREATE TABLE vanished (
    video_id TEXT    NOT NULL,
    slot     INTEGER NOT NULL REFERENCES slots (id) ON DELETE CASCADE,
    reason   TEXT    NOT NULL,
    noted_at INTEGER NOT NULL,
    PRIMARY KEY (video_id, slot)
) STRICT, WITHOUT ROWID;

CREATE INDEX vanished_slot ON vanished (slot);

-- Channels, with their present names. Those without videos are deleted.
CREATE TABLE channels (
    id         INTEGER PRIMARY KEY,
    channel_id TEXT NOT NULL UNIQUE,            -- of the upstream
    title      TEXT NOT NULL
) STRICT;

-- Videos as last fetched, with the upstream's text: the view videos. Values that every sighting changes are kept apart
-- from values that seldom change, in rows a tenth as long. Later videos have larger ids.
--
-- fetched_at and seen_at: a video is fetched whenever the upstream returns it whole, and seen when that is because it
-- was found: in a chart, by a search or by a backfill. Asking again for a stored video, as a refresh does, fetches it
-- without a sighting; asking for its counts alone is neither. Videos not seen for 29 days are no longer refreshed;
-- --seen-since and the order by freshness use seen_at. For videos that a backfill found, upkeep may say otherwise: the
-- last backfill asked to keep its videos fresh or to let them go decides, and any other sighting makes a let-go video
-- an ordinary one.
CREATE TABLE video_facts (
    id           INTEGER PRIMARY KEY,           -- also the rowid in video_text
    video_id     TEXT    NOT NULL UNIQUE,       -- the upstream's
    text_hash    INTEGER NOT NULL,              -- of title, channel, tags and description: if equal, video_text is not written
    facts_hash   INTEGER NOT NULL DEFAULT 0,    -- of that and the columns below: if equal, this row is not written; 0: unknown
    fetched_day  INTEGER NOT NULL DEFAULT 0,    -- days since 1970 UTC: the day of fetched_at or earlier
    channel      INTEGER REFERENCES channels (id),
    published_at INTEGER,
    duration_s   INTEGER NOT NULL DEFAULT 0,    -- 0 while live
    live         INTEGER NOT NULL DEFAULT 0,    -- 1: a live or upcoming broadcast
    category     TEXT    NOT NULL DEFAULT '',
    language     TEXT    NOT NULL DEFAULT '',
    thumbnail    TEXT    NOT NULL DEFAULT '',
    title        TEXT    NOT NULL,
    tags         TEXT    NOT NULL DEFAULT '[]', -- a JSON array of strings, in the upstream's order
    gone         INTEGER NOT NULL DEFAULT 0     -- 1: deleted, as the upstream no longer has it: without text or counts, for its placements alone
) STRICT;

CREATE INDEX videos_channel ON video_facts (channel);
CREATE INDEX videos_fetched ON video_facts (fetched_day);                                 -- refresh, retention
CREATE INDEX videos_gone ON video_facts (id) WHERE gone = 1;                              -- retention

-- Descriptions of videos that were last fetched with `descriptions: on`. Only a video's own page reads them.
CREATE TABLE descriptions (
    video INTEGER PRIMARY KEY REFERENCES video_facts (id) ON DELETE CASCADE,
    text  TEXT NOT NULL
) STRICT;

CREATE TABLE video_latest (
    id         INTEGER PRIMARY KEY REFERENCES video_facts (id) ON DELETE CASCADE,
    fetched_at INTEGER NOT NULL,                -- deleted after 29 days
    seen_at    INTEGER NOT NULL,                -- when last found: see above
    views      INTEGER,
    likes      INTEGER,
    comments   INTEGER,
    counted_at INTEGER,                         -- when its counts were fetched alone since fetched_at; NULL: never
    upkeep     INTEGER                          -- 1: always refreshed; 0: never; NULL: while seen
) STRICT;

-- Videos that the newest look-up left out: asked_at is when. since is when the first look-up left it out that proves an
-- absence (ingest.Asked); NULL: none did. A video that was fetched after asked_at has come back.
CREATE TABLE absences (
    video    INTEGER PRIMARY KEY REFERENCES video_facts (id) ON DELETE CASCADE,
    asked_at INTEGER NOT NULL,
    since    INTEGER
) STRICT;

-- With these blocks a search can choose among thousands of matches without reading a row for each. A row of series 0
-- has a byte for each of 2,048 videos: video id has byte id % 2048 in block id / 2048. Its high four bits say
-- how much the video is watched: 0 below 10 views or if unknown, 1 from 10 on, and one more each time views multiply
-- by 4.26 (e to the power of 1.45). Its low four bits are from a hash of the category. A row of any other series has a
-- bit for each video, bit id % 8 of byte id % 2048 / 8: without it, or without a row, none of the series' charts
-- placed the video.
CREATE TABLE video_blocks (
    id    INTEGER PRIMARY KEY,                  -- the series times 2 to the power of 32, plus the block
    bytes BLOB NOT NULL                         -- 2,048 or 256
) STRICT;

CREATE VIEW videos AS
SELECT id, video_id, title, tags, channel, published_at, duration_s, live, category, language, thumbnail,
       views, likes, comments, fetched_at, seen_at, counted_at, upkeep, text_hash, fetched_day
FROM video_facts JOIN video_latest USING (id);

-- One row per place in a chart: the video's rank and counts in the chart of this slot. series repeats the slot's
-- series, so that "was this video ever charted in this region" is one lookup in placements_video, which also keeps a video from
-- having two ranks in a slot.
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

-- Names of categories in a region, as of table named.
CREATE TABLE categories (
    region TEXT NOT NULL,
    id     TEXT NOT NULL,                       -- of the upstream, as in videos.category
    name   TEXT NOT NULL,
    PRIMARY KEY (region, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE named (
    region   TEXT    PRIMARY KEY,
    named_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Charts that the upstream does not have: not asked for again before until.
CREATE TABLE absent_charts (
    region   TEXT    NOT NULL,
    category TEXT    NOT NULL,                  -- '' is the whole chart
    until    INTEGER NOT NULL,                  -- milliseconds
    PRIMARY KEY (region, category)
) STRICT, WITHOUT ROWID;

-- Changes that some hook has not received yet, in the order of their commits. Row hooks of table meta has each hook's
-- progress, as JSON. The store deletes an event that all hooks have received, or that is older than three days.
CREATE TABLE events (
    id   INTEGER PRIMARY KEY,                   -- above the numbers of all earlier events, deleted ones included
    key  TEXT    NOT NULL,                      -- the receiver recognises a repeated event by it
    name TEXT    NOT NULL,                      -- such as 'chart.saved'
    at   INTEGER NOT NULL,
    data TEXT    NOT NULL                       -- JSON
) STRICT;

-- The index. It keeps no text. It indexes the text of videos and channels after text.Normalize, which folds it and
-- cuts it into tokens, so that the tokenizer only splits at spaces. The categories keep the vowel signs of Hindi and
-- Tamil (Mn, Mc) and emoji (So) inside tokens. Prefixes of one to three characters have lists of their own, for search
-- as you type and for single Chinese characters: otherwise the lists of all words with the prefix would be merged
-- first.
CREATE VIRTUAL TABLE video_text USING fts5 (
    title, channel, tags, description,
    content = '', contentless_delete = 1,
    prefix = '1 2 3',
    tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc So'"
);

-- The words of the index, and how many videos have each: a view.
CREATE VIRTUAL TABLE video_words USING fts5vocab (video_text, row);

-- Each word of the index, and some that were in it since the last sweep. A search for other spellings looks here which
-- of the many it tries are words at all: in the index that takes twenty times as long.
CREATE TABLE words (
    word TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- The place of each word in each video: doctor compares it with the videos.
CREATE VIRTUAL TABLE video_places USING fts5vocab (video_text, instance);
