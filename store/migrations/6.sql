-- Version 6: missed ticks in a row are one slot, which says how many they are and when the first of them was due.

ALTER TABLE slots ADD COLUMN count INTEGER NOT NULL DEFAULT 1;
ALTER TABLE slots ADD COLUMN first_due_at INTEGER;

-- Slots in a row, by due time, that came out alike have the same place among those of their series less that among those
-- that came out so.
CREATE VIEW missed_rows AS
SELECT id, series, due_at, count(*) OVER in_row AS ticks, min(due_at) OVER in_row AS since, max(due_at) OVER in_row AS until
FROM (
    SELECT id, series, due_at, state, kind, reason,
           row_number() OVER (PARTITION BY series ORDER BY due_at) - row_number() OVER (PARTITION BY series, state, kind, reason ORDER BY due_at) AS behind
    FROM slots
)
WHERE state = 'missed'
WINDOW in_row AS (PARTITION BY series, kind, reason, behind);

UPDATE slots SET count = ticks, first_due_at = since FROM missed_rows
WHERE missed_rows.id = slots.id AND missed_rows.due_at = until AND ticks > 1;

DELETE FROM slots WHERE id IN (SELECT id FROM missed_rows WHERE due_at < until);

DROP VIEW missed_rows;
