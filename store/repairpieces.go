package store

import (
	"fmt"
	"time"
)

// lostPiece is the reason of a piece that fails because what it asks for is lost.
const lostPiece = `what it asks for was lost when the store was damaged: plan it again`

// What must not be true of pieces: see checks, and repairPieces in the same order.
const (
	orphanPieces   = `FROM pieces WHERE slot NOT IN (SELECT id FROM slots)`
	orphanVanished = `FROM vanished WHERE slot NOT IN (SELECT id FROM slots)`
	garbledPieces  = `FROM pieces WHERE NOT json_valid(spec) OR NOT json_valid(waiting)
		OR spec = '{}' AND waiting = '[]' AND known = 0 AND slot NOT IN (SELECT slot FROM vanished)
		AND slot IN (SELECT id FROM slots WHERE kind = 'backfill' AND state IN ('due', 'stopped', 'claimed') AND videos = 0)`
	unnamedSeries       = `backfill IS NULL AND job = 'backfill/bf-' || CAST(substr(job, 13) AS INTEGER)`
	lostBackfills       = `FROM series WHERE backfill IS NOT NULL AND backfill NOT IN (SELECT id FROM backfills)`
	mismatchedPieces    = `FROM pieces JOIN slots ON slots.id = slot JOIN series ON series.id = series WHERE pieces.backfill IS NOT series.backfill`
	slotlessSeries      = `FROM series WHERE backfill IS NOT NULL AND id NOT IN (SELECT series FROM slots)`
	missingPieces       = `kind = 'backfill' AND state IN ('due', 'stopped', 'claimed') AND id NOT IN (SELECT slot FROM pieces)`
	unclaimablePieces   = `FROM series JOIN slots ON slots.series = series.id WHERE backfill IS NOT NULL AND state IN ('claimed', 'stopped') AND due_at IS NOT open`
	missingSearchPieces = `kind = 'search' AND state IN ('due', 'stopped', 'claimed') AND pages > 0 AND id NOT IN (SELECT slot FROM pieces)`
)

// repairPieces lets every piece of a backfill be worked on, or fails it. Rows without a slot must be gone by then. A
// lost backfill gets a substitute row, cancelled at now, so that what its pieces spent stays known and its name is not
// assigned again.
func repairPieces(now time.Time) []string {
	return []string{
		`UPDATE series SET backfill = CAST(substr(job, 13) AS INTEGER) WHERE ` + unnamedSeries,
		`UPDATE series SET place = coalesce((
			SELECT unixepoch(spec ->> 'After') FROM slots JOIN pieces ON slot = slots.id WHERE slots.series = series.id), id)
		WHERE backfill IS NOT NULL AND place IS NULL`,
		fmt.Sprintf(`
			INSERT INTO backfills (id, name, kind, identity, spec, cost_table, wait, created_at, cancelled_at)
			SELECT backfill, 'bf-' || backfill, coalesce((
				SELECT CASE WHEN spec ->> 'After' <> '' THEN 'search' WHEN spec ->> 'channel' <> '' THEN 'uploads' ELSE 'videos' END
				FROM slots JOIN pieces ON slot = slots.id WHERE slots.series = series.id), 'videos'),
				'lost ' || backfill, '{}', '', 0, min(newest) * 1000, %d
			%s GROUP BY backfill`, now.UnixMilli(), lostBackfills),
		`UPDATE pieces SET backfill = found.backfill
		FROM (SELECT slots.id, backfill FROM slots JOIN series ON series.id = series) AS found
		WHERE found.id = slot AND pieces.backfill IS NOT found.backfill`,
		`INSERT INTO slots (series, due_at, kind, state, reason) SELECT id, newest, 'backfill', 'failed', '` + lostPiece + `' ` + slotlessSeries,
		`UPDATE slots SET state = 'failed', lease = NULL, retry_at = NULL, reason = '` + lostPiece + `'
		WHERE ` + missingPieces + ` OR state IN ('due', 'stopped', 'claimed') AND series IN (
			SELECT series.id FROM series JOIN backfills ON backfills.id = backfill WHERE identity = 'lost ' || backfill)`,
		`UPDATE slots SET pages = 0, token = '', token_at = NULL WHERE ` + missingSearchPieces,
		`DELETE FROM backfills WHERE id NOT IN (SELECT backfill FROM series WHERE backfill IS NOT NULL)`,
	}
}

// repairOpenPieces opens the series of every open piece: a piece is the only slot of its series.
const repairOpenPieces = `
UPDATE series SET open = due_at FROM slots
WHERE slots.series = series.id AND backfill IS NOT NULL AND state IN ('due', 'claimed', 'stopped') AND open IS NOT due_at`
