-- A store of version 1: its schema as it was released, and rows of every kind in it.
PRAGMA journal_mode = WAL;

-- The store, ingest.db: what was charted where and when, and every slot with its outcome.
--
-- Written by package store alone. Readable by anything that reads SQLite 3.43 or newer:
--   PRAGMA application_id = 0x696E6774 ("ingt"), PRAGMA user_version = the version of this schema.
--
-- Units, everywhere:
--   due_at, newest, open, published_at   seconds since 1970-01-01 UTC
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
-- the first that fits in series_open, however many wait. Who writes a slot's state keeps them.
CREATE TABLE series (
    id       INTEGER PRIMARY KEY,
    job      TEXT    NOT NULL,
    key      TEXT    NOT NULL,
    newest   INTEGER NOT NULL,                  -- due_at of its newest slot, in whatever state
    open     INTEGER,                           -- due_at of its slot that is or may yet be claimed; NULL: none
    fresh_at INTEGER,                           -- when a slot of it was last done; NULL: never
    UNIQUE (job, key)
) STRICT;

CREATE INDEX series_open ON series (fresh_at, open, job, key) WHERE open IS NOT NULL;     -- claim

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
    kind       TEXT    NOT NULL,                -- 'chart', 'refresh'
    state      TEXT    NOT NULL CHECK (state IN ('due', 'claimed', 'done', 'stopped', 'failed', 'skipped', 'missed')),
    owner      TEXT    NOT NULL DEFAULT '',
    attempt    INTEGER NOT NULL DEFAULT 0,
    lease      INTEGER,                         -- NULL unless claimed
    token      TEXT    NOT NULL DEFAULT '',     -- of the next page; '' is page 1
    token_at   INTEGER,
    pages      INTEGER NOT NULL DEFAULT 0,      -- saved so far, by the attempt that the placements are of
    videos     INTEGER NOT NULL DEFAULT 0,
    units      INTEGER NOT NULL DEFAULT 0,      -- charged, over all attempts
    reason     TEXT    NOT NULL DEFAULT '',     -- why it is not done, frozen when it ended
    retry_at   INTEGER,                         -- advice, not a gate
    fetched_at INTEGER,                         -- when its last page was saved
    UNIQUE (series, due_at)
) STRICT;

CREATE INDEX slots_claimed ON slots (series, lease) WHERE state = 'claimed';              -- never two of a series
CREATE INDEX slots_due ON slots (due_at);                                                -- reports, retention

-- Channels, for their present name. One without videos is deleted.
CREATE TABLE channels (
    id         INTEGER PRIMARY KEY,
    channel_id TEXT NOT NULL UNIQUE,            -- the upstream's
    title      TEXT NOT NULL
) STRICT;

-- Videos as they were last fetched, all text as the upstream gave it. A larger id was met later.
CREATE TABLE videos (
    id           INTEGER PRIMARY KEY,           -- also the rowid in video_text
    fetched_at   INTEGER NOT NULL,              -- what is older than 30 days must go
    seen_at      INTEGER NOT NULL,              -- last found in a chart
    views        INTEGER,
    likes        INTEGER,
    comments     INTEGER,
    text_hash    INTEGER NOT NULL,              -- of title, channel and tags: an equal hash leaves video_text alone
    video_id     TEXT    NOT NULL UNIQUE,       -- the upstream's
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

CREATE INDEX videos_channel ON videos (channel);
CREATE INDEX videos_fetched ON videos (fetched_at);

-- One row per place in a chart: in the chart of this slot, the video had this rank and these counts.
-- Series repeats what the slot says, so that "was this video ever charted in this region" is one
-- look into placements_video, which also keeps a video from having two ranks in a slot.
CREATE TABLE placements (
    slot     INTEGER NOT NULL REFERENCES slots (id),
    rank     INTEGER NOT NULL,                  -- from 1, over all pages of the slot
    video    INTEGER NOT NULL REFERENCES videos (id),
    series   INTEGER NOT NULL,
    views    INTEGER,
    likes    INTEGER,
    comments INTEGER,
    PRIMARY KEY (slot, rank)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX placements_video ON placements (video, series, slot);

-- The index. It keeps no text; its text is that of videos and channels after store.Normalize, which
-- has folded it and cut it into tokens, so that the tokenizer only parts them at the spaces. The
-- categories keep the vowel signs of Hindi and Tamil (Mn, Mc) and emoji (So) inside their tokens.
-- Beginnings of one character, as a search for one Chinese character is, have lists of their own (half
-- as much again of the index): else the lists of all words with that beginning are merged first.
CREATE VIRTUAL TABLE video_text USING fts5 (
    title, channel, tags,
    content = '', contentless_delete = 1,
    prefix = '1',
    tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc So'"
);

INSERT INTO meta (name, value) VALUES
    ('upstream', '127.0.0.1');

INSERT INTO series (id, job, key, newest, open, fresh_at) VALUES
    (1, 'chart', 'IN', 1771070400, NULL, 1771070400000),
    (2, 'chart', 'DE', 1771070400, 1771070400, 1771066800000),
    (3, 'chart', 'US', 1771070400, 1771070400, NULL),
    (4, 'chart', 'FR', 1771070400, 1771070400, NULL),
    (5, 'chart', 'GB', 1771070400, 1771070400, NULL),
    (6, 'chart', 'BR', 1771066800, NULL, NULL),
    (7, 'refresh', '', 1771070400, 1771070400, NULL);

INSERT INTO slots (id, series, due_at, kind, state, owner, attempt, lease, token, token_at, pages, videos, units, reason, retry_at, fetched_at) VALUES
    (1, 1, 1770980400, 'chart', 'done', 'test', 1, NULL, '', NULL, 1, 2, 1, '', NULL, 1770980400000),
    (2, 1, 1771070400, 'chart', 'done', 'test', 1, NULL, '', NULL, 2, 4, 2, '', NULL, 1771070400000),
    (3, 2, 1771066800, 'chart', 'done', 'test', 1, NULL, '', NULL, 1, 2, 1, '', NULL, 1771066800000),
    (4, 2, 1771070400, 'chart', 'due', '', 0, NULL, '', NULL, 0, 0, 0, '', NULL, NULL),
    (5, 3, 1771070400, 'chart', 'stopped', 'w/1/x', 1, NULL, '', NULL, 0, 0, 3, 'units: 9,500 of 9,500 used', 1771074000000, NULL),
    (6, 4, 1771070400, 'chart', 'claimed', 'w/1/x', 1, 1771070700000, '', NULL, 0, 0, 0, '', NULL, NULL),
    (7, 5, 1771063200, 'chart', 'skipped', '', 0, NULL, '', NULL, 0, 0, 0, 'superseded by the slot of 2026-02-14T12:00:00Z', NULL, NULL),
    (8, 5, 1771070400, 'chart', 'due', '', 0, NULL, '', NULL, 0, 0, 0, '', NULL, NULL),
    (9, 6, 1771059600, 'chart', 'missed', '', 0, NULL, '', NULL, 0, 0, 0, 'nothing ran', NULL, NULL),
    (10, 6, 1771066800, 'chart', 'failed', 'w/1/x', 1, NULL, '', NULL, 0, 0, 1, 'HTTP 500', NULL, NULL),
    (11, 7, 1771070400, 'refresh', 'due', '', 0, NULL, '', NULL, 0, 0, 0, '', NULL, NULL);

INSERT INTO channels (id, channel_id, title) VALUES
    (1, 'UChindi', 'भारत संगीत'),
    (2, 'UCtokyo', '東京散歩'),
    (3, 'UCkanal', 'Kanal');

INSERT INTO videos (id, fetched_at, seen_at, views, likes, comments, text_hash, video_id, channel, published_at, duration_s, live, category, language, thumbnail, title, tags) VALUES
    (1, 1771070400000, 1771070400000, 100, 10, 1, 5449182751645510122, 'hi-1', 1, 1771066800, 180, 0, '10', 'de', 'https://i.example/hi-1', 'नमस्ते दुनिया', '["हिन्दी","गीत"]'),
    (2, 1771070400000, 1771070400000, NULL, 10, 1, 9161272597134606956, 'ja-1', 2, 1771066800, 180, 0, '10', 'de', 'https://i.example/ja-1', '東京タワーの夜景', '[]'),
    (3, 1771070400000, 1771070400000, 100, 10, 1, -2989443821024970077, 'em-1', NULL, NULL, 180, 0, '10', 'de', 'https://i.example/em-1', '🔥 ''Quoted'' video', '[]'),
    (4, 1771066800000, 1771066800000, 100, 10, 1, -2843021880084374423, 'de-1', 3, 1771066800, 180, 0, '10', 'de', 'https://i.example/de-1', 'Straße nach Süden = 1+1', '["it''s","a\"b"]'),
    (5, 1771066800000, 1771066800000, 100, 10, 1, -8235863766667029814, 'lv-1', 3, 1771066800, 0, 1, '10', 'de', 'https://i.example/lv-1', 'Live jetzt', '[]'),
    (6, 1771066800000, 1771066800000, 100, 10, 1, -4819481043408854447, 'th-1', 3, 1771066800, 180, 0, '10', 'th', 'https://i.example/th-1', 'เพลงไทย', '[]');

INSERT INTO placements (slot, rank, video, series, views, likes, comments) VALUES
    (1, 1, 1, 1, 100, 10, 1),
    (1, 2, 2, 1, NULL, 10, 1),
    (2, 1, 2, 1, NULL, 10, 1),
    (2, 2, 1, 1, 100, 10, 1),
    (2, 3, 3, 1, 100, 10, 1),
    (2, 4, 4, 1, 100, 10, 1),
    (3, 1, 4, 2, 100, 10, 1),
    (3, 2, 5, 2, 100, 10, 1);

INSERT INTO video_text (rowid, title, channel, tags) VALUES
    (1, 'नमस्ते दुनिया', 'भारत संगीत', 'हिन्दी गीत'),
    (2, '東京 京タ タワ ワー ーの の夜 夜景 景', '東京 京散 散歩 歩', ''),
    (3, '🔥 quoted video', 'kanal', ''),
    (4, 'strasse nach suden 1 1', 'kanal', 'it s a b'),
    (5, 'live jetzt', 'kanal', ''),
    (6, 'เพลงไทย', 'kanal', ''); -- as version 1 had it, one token

PRAGMA application_id = 0x696E6774;
PRAGMA user_version = 1;
