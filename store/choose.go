package store

import (
	"context"
	"slices"
	"strings"

	"github.com/trendvidstream/ingest/store/text"
)

// maxScored is how many matches are scored by their text, the most watched; if more match, first as many of those with
// all words in title or channel. A variable, so that a test can make it apply to a small store.
var maxScored = 300

const (
	// enoughExact is the number of matches of whole words, several pages, that stops the last word from counting as a
	// prefix.
	enoughExact = 100
	// fewMatches is the least number of matches that makes other spellings needless.
	fewMatches = 3
)

// reading is a way to read a query, each wider than the one before.
type reading int

const (
	theVideo   reading = iota - 2 // the video with this id
	inNames                       // the words in title or channel, where more videos match than are scored
	asTyped                       // the words in any field
	openEnded                     // the last word may be the beginning of one
	respelled                     // other forms of the words, and if nothing else matches, other spellings
	butOneWord                    // one of the words may be missing
)

// choice is a reading of a query, and the videos that it finds.
type choice struct {
	reading reading
	query   text.Query  // as read
	matches matches     // of the query
	first   []candidate // of the narrower readings' matches and of these, the first in the order of the ranking
	tagged  []int64     // matches with the words in their tags alone, which first leaves out
}

// interpreted describes the choice for a person.
func (c choice) interpreted(q SearchQuery) string {
	if c.reading == theVideo {
		return "the video " + strings.TrimSpace(q.Text)
	}
	return c.query.Explain(c.reading == butOneWord)
}

// choose reads the query as typed; if that does not find enough, its last word may also be the beginning of a word; if
// few match, other forms of its words count; and if none does, so do other spellings of them, and then one word may be
// missing: a query that finds a video is spelled right. A filter that passes few is no reason to forgive. In any
// order but ByRelevance a query is read in a wider way only while it finds nothing, so that no wider match is mixed
// with exact ones.
func (x *index) choose(ctx context.Context, query text.Query) (choice, error) {
	wanted := x.page()
	if x.q.Order == ByRelevance {
		wanted = ranking{limit: maxScored}
	}
	c, err := x.chooseVideo(ctx, query, wanted)
	if err != nil || len(c.first) > 0 {
		return c, err
	}
	c = choice{query: query}
	if x.q.Order == ByRelevance {
		if err := x.walkOpen(ctx, query); err != nil {
			return c, err
		}
		if c, err = x.chooseInNames(ctx, query, wanted); err != nil || c.reading == inNames {
			return c, err
		}
	}
	query = c.query
	for wider := asTyped; wider <= butOneWord && !c.suffices(wider, x.q.Order); wider++ {
		if wider == openEnded {
			query = query.Open()
		}
		if wider == respelled {
			if query, err = query.Forgive(x.vocabulary(ctx), c.found() > 0); err != nil {
				return c, err
			}
		}
		if c, err = x.widen(ctx, c, query, wider, wanted); err != nil {
			return c, err
		}
	}
	return c, nil
}

// walkOpen spares the walk over the index for the query as typed if its last word may be the beginning of one: if few
// videos match that, and the titles or channels of all have the whole word, these are the matches of both readings.
func (x *index) walkOpen(ctx context.Context, query text.Query) error {
	open, asTyped := query.Open().Match(false), query.Match(false)
	if open == asTyped || len(query) == 1 && !query.IsLong() {
		return nil
	}
	m, err := x.match(ctx, open, min(maxScored, enoughExact)-1)
	if err != nil || m.capped || len(m.ids) < m.all {
		return err
	}
	if err := x.known(ctx, m.ids); err != nil {
		return err
	}
	for _, id := range m.ids {
		if !query.EndsIn(x.kept.videos[id].text) {
			return nil
		}
	}
	x.walked[asTyped] = m
	return nil
}

// found is the number of matches of this reading or of the narrower ones.
func (c choice) found() int { return max(len(c.first), c.matches.all) }

// suffices reports whether the choice finds enough, so that the query is not read in the wider way.
func (c choice) suffices(wider reading, order Order) bool {
	few, enough := fewMatches, min(maxScored, enoughExact)
	if order != ByRelevance {
		few, enough = 1, 1
	}
	switch wider {
	case openEnded:
		return max(len(c.first), len(c.matches.ids)) >= enough
	case respelled:
		return c.found() >= few
	case butOneWord:
		return c.found() > 0
	default:
		return false
	}
}

// widen returns the choice with the matches of the query, read in the wider way, or unchanged if these are not new.
func (x *index) widen(ctx context.Context, c choice, query text.Query, wider reading, wanted ranking) (choice, error) {
	found, err := x.find(ctx, query, wider == butOneWord, maxMatches)
	if err != nil {
		return c, err
	}
	var more []candidate
	if word, _ := query.Word(); wider == asTyped && word != "" && x.tagsWait(query) && x.q.After == "" &&
		len(found.ids) >= min(maxScored, enoughExact) {
		c.tagged = found.without(c.matches.ids)
	} else if len(c.first) < maxScored {
		if more, err = x.rank(ctx, found.without(c.matches.ids), wanted); err != nil {
			return c, err
		}
	}
	if wider == asTyped || len(more) > 0 {
		c.reading, c.query, c.matches = wider, query, found
	}
	c.first = append(c.first, more...)
	return c, nil
}

// find returns the newest atMost videos that match the query or, with butOne, all but one of its clauses.
func (x *index) find(ctx context.Context, query text.Query, butOne bool, atMost int) (matches, error) {
	if butOne {
		return x.butOne(ctx, query)
	}
	return x.match(ctx, query.Match(false), atMost)
}

// tagsWait reports whether titles and channels are searched first: one word is found as fast there as in all fields,
// and if that gives enough candidates, the other fields need not be searched.
func (x *index) tagsWait(query text.Query) bool {
	return x.q.Order == ByRelevance && query.IsWord() && !x.q.picky()
}

// chooseInNames tries, if more videos match than are scored, first those with the words in title or channel; most
// others are only tagged. The reading is inNames if these suffice; otherwise wider ones are to follow.
func (x *index) chooseInNames(ctx context.Context, query text.Query, wanted ranking) (c choice, err error) {
	if len(query) > 2 { // with three clauses the last word may be a prefix
		query = query.Open()
	}
	c.query = query
	wait, atMost := x.tagsWait(query), maxMatches
	if wait {
		atMost = min(maxScored, maxMatches)
	}
	all, err := x.match(ctx, query.Match(false), atMost)
	if err != nil || !all.capped && len(all.ids) <= maxScored {
		return c, err
	}
	if !wait {
		if x.q.picky() { // the filters may leave no more than are scored
			if c.first, err = x.rank(ctx, all.ids, wanted); err != nil || len(c.first) < maxScored {
				c.matches = all
				return c, err
			}
		}
	}
	if c.matches, err = x.match(ctx, query.Match(true), maxMatches); err != nil {
		return c, err
	}
	if c.first, err = x.rank(ctx, c.matches.ids, wanted); err != nil || !wait || len(c.first) < maxScored {
		return c, err
	}
	c.reading = inNames
	if !c.matches.capped {
		word, prefix := query.Word()
		c.matches.capped, err = x.has(ctx, query.Match(false), word, prefix, maxMatches+1)
	}
	return c, err
}

// chooseVideo finds a video whose id is the text or part of it, as in a URL: it tries each run of six or more
// idLetters, unless the text has spaces.
func (x *index) chooseVideo(ctx context.Context, query text.Query, wanted ranking) (c choice, err error) {
	typed := strings.TrimSpace(x.q.Text)
	ids := strings.FieldsFunc(typed, func(r rune) bool { return r > 'z' || !strings.ContainsRune(idLetters, r) })
	ids = slices.DeleteFunc(ids, func(id string) bool { return len(id) < 6 })
	if len(ids) == 0 || strings.ContainsAny(typed, " \t\n") {
		return c, nil
	}
	c.reading, c.query = theVideo, query
	c.matches.ids, err = column[int64](ctx, x.tx, `
		SELECT facts.id FROM json_each(?1) AS given CROSS JOIN video_facts AS facts ON video_id = CAST(given.value AS text)
			WHERE gone = 0 AND facts.id <= ?2`,
		listJSON(ids), x.scope.Video)
	newestFirst(c.matches.ids)
	c.matches.ids = slices.Compact(c.matches.ids)
	if err == nil && len(c.matches.ids) > 0 {
		c.first, err = x.rank(ctx, c.matches.ids, wanted)
	}
	return c, err
}

const idLetters = "-_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// butOne finds videos that meet all clauses but one, among the newest matches of each clause; with more clauses, fewer
// of each.
func (x *index) butOne(ctx context.Context, query text.Query) (m matches, err error) {
	each := query.Each()
	if len(each) < 2 {
		return m, nil
	}
	var ids []int64
	for _, clause := range each {
		found, err := x.match(ctx, clause.Match(false), maxMatches/len(each))
		if err != nil {
			return m, err
		}
		ids, m.capped = append(ids, found.ids...), m.capped || found.capped
	}
	newestFirst(ids)
	clauses := 0
	for i, id := range ids {
		if clauses++; i+1 < len(ids) && ids[i+1] == id {
			continue
		}
		if clauses >= len(each)-1 {
			m.ids = append(m.ids, id)
		}
		clauses = 0
	}
	m.all = len(m.ids)
	return m, nil
}
