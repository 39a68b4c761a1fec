package store

import (
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
)

// contradiction is a way for the tables of an undamaged file to disagree.
type contradiction struct {
	what string // for counted; "": not searched for
	rows string // the wrong rows
	did  string // mend's report, for counted; "": it corrects rows
	mend string // ?1 is now in milliseconds; the last statement's changed rows count. "": see repairIndex
}

// contradictions are in the order of their correction.
var contradictions = []contradiction{
	{what: "%d video{|s} {is|are} not in the index: no search finds {it|them}",
		rows: `FROM video_facts WHERE gone = 0 AND id NOT IN (SELECT id FROM video_text_docsize)`},
	{what: "%d row{|s} of the index {belongs|belong} to no video",
		rows: `FROM video_text_docsize WHERE id NOT IN (SELECT id FROM video_facts)`},
	{did: "gave up %d chart{|s} that {was|were} no longer complete",
		mend: lostCharts +
			`kind = 'chart' AND id IN (SELECT slot FROM placements WHERE video NOT IN (SELECT id FROM video_facts))`},
	deleted("%d slot{|s} {belongs|belong} to no series", `FROM slots WHERE series NOT IN (SELECT id FROM series)`),
	deleted("%d placement{|s} {belongs|belong} to no slot, or to no video",
		`FROM placements WHERE slot NOT IN (SELECT id FROM slots) OR video NOT IN (SELECT id FROM video_facts)`),
	deleted("%d row{|s} of counts {belongs|belong} to no video",
		`FROM video_latest WHERE id NOT IN (SELECT id FROM video_facts)`),
	{what: "%d placement{|s} {is|are} in another series than {its|their} slot",
		rows: `FROM placements JOIN slots ON slots.id = slot WHERE placements.series <> slots.series`,
		mend: `UPDATE placements SET series = slots.series FROM slots WHERE slots.id = slot
			AND placements.series <> slots.series`},
	{what: "%d video{|s} {belongs|belong} to a missing channel",
		rows: `FROM video_facts WHERE ` + lostChannels,
		// until the video is fetched again
		mend: `UPDATE video_facts SET channel = NULL, text_hash = ~text_hash, facts_hash = 0 WHERE ` + lostChannels},
	{what: "%d video{|s} {has|have} lost {its|their} counts: no search finds {it|them}",
		rows: `FROM video_facts WHERE gone = 0 AND id NOT IN (SELECT id FROM video_latest)`,
		did:  "marked %d video{|s} to be refreshed, whose counts were lost", mend: restoreLatest},
	deleted("%d description{|s} {belongs|belong} to no video",
		`FROM descriptions WHERE video NOT IN (SELECT id FROM video_facts)`),
	deleted("%d absence{|s} {belongs|belong} to no video",
		`FROM absences WHERE video NOT IN (SELECT id FROM video_facts)`),
	deleted("%d piece{|s} {belongs|belong} to no slot", `FROM pieces WHERE slot NOT IN (SELECT id FROM slots)`),
	deleted("%d id{|s} that vanished {belongs|belong} to no slot",
		`FROM vanished WHERE slot NOT IN (SELECT id FROM slots)`),
	deleted("%d piece{|s} {has|have} a request that cannot be read", `FROM pieces
		WHERE NOT json_valid(spec) OR NOT json_valid(waiting) OR NOT json_valid(listing)
		   OR spec = '{}' AND waiting = '[]' AND known = 0 AND slot NOT IN (SELECT slot FROM vanished)
		      AND slot IN (SELECT id FROM slots WHERE kind = 'backfill' AND state IN ('due', 'stopped', 'claimed')
		          AND videos = 0)`),
	{mend: `DELETE FROM backfills WHERE ready AND id NOT IN (SELECT backfill FROM series WHERE backfill IS NOT NULL)`},
	{what: "%d piece{|s} {belongs|belong} to a missing backfill", rows: lostBackfills, mend: `
			INSERT INTO backfills (id, name, kind, identity, spec, cost_table, wait, created_at, cancelled_at)
			SELECT backfill, 'bf-' || backfill, 'videos', 'lost ' || backfill, '{}', '', 0, max(newest) * 1000, ?1 ` +
		lostBackfills + `
			GROUP BY backfill`}, // keeps the units of its pieces, and its name taken
	{mend: failPieces + `series IN (SELECT series.id FROM series JOIN backfills ON backfills.id = backfill
		WHERE identity = 'lost ' || backfill)`},
	{what: "%d piece{|s} {has|have} lost {its|their} slot", rows: slotlessSeries,
		mend: `INSERT INTO slots (series, due_at, kind, state, reason) SELECT id, newest, 'backfill', 'failed', '` +
			lostPiece + `' ` + slotlessSeries},
	{what: "%d piece{|s} {has|have} lost {its request|their requests}",
		rows: `FROM slots WHERE kind = 'backfill' AND state IN ('due', 'stopped', 'claimed')
			AND id NOT IN (SELECT slot FROM pieces)`,
		mend: failPieces + `kind = 'backfill' AND id NOT IN (SELECT slot FROM pieces)`},
	{what: "%d search{|es} {has|have} lost {its|their} results", rows: `FROM slots WHERE ` + lostSearches,
		mend: `UPDATE slots SET pages = 0, token = '', token_at = NULL WHERE ` + lostSearches},
	{what: "%d series {has|have} another newest slot than {it says|they say}",
		rows: `FROM series WHERE newest <> (SELECT max(due_at) FROM slots WHERE series = series.id)`,
		mend: `
			UPDATE series SET newest = last FROM (SELECT series AS id, max(due_at) AS last FROM slots GROUP BY series) AS found
			WHERE found.id = series.id AND newest <> last`},
	{mend: `
			UPDATE slots SET state = 'skipped', reason = 'superseded by a newer slot'
			WHERE state = 'due' AND due_at < (SELECT max(due_at) FROM slots AS other WHERE other.series = slots.series
				AND state <> 'missed')`},
	{what: "%d series {has|have} another slot to claim than {it says|they say}",
		rows: `FROM series WHERE ` + wronglyOpen, mend: `
			UPDATE series SET open = (
				SELECT due_at FROM slots
				WHERE series = series.id AND (state IN ('due', 'claimed') OR state = 'stopped' AND due_at = newest)
				ORDER BY due_at DESC LIMIT 1)
			WHERE ` + wronglyOpen},
	{what: "%d series {was|were} fresh later than {it says|they say}",
		rows: `FROM series WHERE coalesce(fresh_at, 0) < (SELECT max(fetched_at)
			FROM slots WHERE series = series.id AND state = 'done')`,
		mend: `
			UPDATE series SET fresh_at = last
			FROM (SELECT series AS id, max(fetched_at) AS last FROM slots WHERE state = 'done' GROUP BY series) AS found
			WHERE found.id = series.id AND coalesce(fresh_at, 0) < last`},
}

// deleted is a contradiction whose rows are deleted.
func deleted(what, rows string) contradiction {
	return contradiction{what: what, rows: rows, mend: `DELETE ` + rows}
}

// lostCharts marks incomplete done charts as failed, or due again if they are the newest of their series. The
// condition on slots follows.
const lostCharts = `
UPDATE slots
SET pages = 0, videos = 0, token = '', token_at = NULL,
    state = CASE WHEN state <> 'done' THEN state
        WHEN due_at = (SELECT max(due_at) FROM slots AS other WHERE other.series = slots.series) THEN 'due'
            ELSE 'failed' END,
    reason = iif(state = 'done', 'its chart was lost when the store was damaged', reason)
WHERE `

const (
	lostChannels   = `channel IS NOT NULL AND channel NOT IN (SELECT id FROM channels)`
	lostBackfills  = `FROM series WHERE backfill IS NOT NULL AND backfill NOT IN (SELECT id FROM backfills)`
	slotlessSeries = `FROM series WHERE backfill IS NOT NULL AND id NOT IN (SELECT series FROM slots)`
	lostSearches   = `kind = 'search' AND state IN ('due', 'stopped', 'claimed') AND pages > 0
		AND id NOT IN (SELECT slot FROM pieces)`
	wronglyOpen = `(open IS NOT NULL AND NOT EXISTS (
		SELECT 1 FROM slots WHERE series = series.id AND due_at = open AND state IN ('due', 'claimed', 'stopped'))
	OR EXISTS (
		SELECT 1 FROM slots
		WHERE series = series.id AND due_at IS NOT open
			AND (state = 'due' OR backfill IS NOT NULL AND state IN ('claimed', 'stopped'))))`

	// lostPiece is the reason of a piece that fails because its request is lost.
	lostPiece  = `its request was lost when the store was damaged: plan it again`
	failPieces = `
UPDATE slots SET state = 'failed', lease = NULL, retry_at = NULL, reason = '` + lostPiece + `'
WHERE state IN ('due', 'stopped', 'claimed') AND `
)

// restoreLatest gives videos that lost their counts unknown counts, seen in their last chart, and a fetch so long ago
// that the next refresh asks again.
var restoreLatest = fmt.Sprintf(`
UPDATE video_facts SET fetched_day = 0 WHERE gone = 0 AND id NOT IN (SELECT id FROM video_latest);
INSERT INTO video_latest (id, fetched_at, seen_at)
SELECT id, ?1 - %d, coalesce((SELECT max(slots.fetched_at) FROM placements JOIN slots ON slots.id = slot
	WHERE video = video_facts.id), ?1 - %[1]d)
FROM video_facts WHERE gone = 0 AND id NOT IN (SELECT id FROM video_latest)`, longAgo.Milliseconds())

// longAgo is the age of a fetch after which the next refresh asks again.
const longAgo = ingest.RefreshAfter + time.Second
