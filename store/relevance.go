package store

import (
	"context"
	"math"
	"slices"

	"github.com/trendvidstream/ingest/store/text"
)

// candidate is a matching video with its place in the result.
type candidate struct {
	position

	title      string  // folded
	score      float64 // by its text; after sortByScore also by its views
	titleShare float64 // the share of the query in its title
}

// sort returns the page's candidates and, if there is a next page, the first of that.
func (x *index) sort(ctx context.Context, c choice) ([]candidate, error) {
	if x.q.Order != ByRelevance {
		return c.first, x.score(ctx, c.query, c.first)
	}
	candidates, err := x.byRelevance(ctx, c)
	if err != nil {
		return nil, err
	}
	page, scored := x.page(), make([]int64, len(candidates))
	for i := range candidates {
		scored[i] = candidates[i].ID
	}
	if page.after != nil {
		candidates = slices.DeleteFunc(candidates, func(c candidate) bool { return c.compare(*page.after) <= 0 })
	}
	if page.limit -= len(candidates); page.limit <= 0 || len(scored) < maxScored {
		return candidates, nil
	}
	newestFirst(scored)
	rest, err := x.unscored(ctx, c, scored, page)
	return append(candidates, rest...), err
}

// unscored returns the first of the matches that were not scored, which follow by popularity.
func (x *index) unscored(ctx context.Context, c choice, scored []int64, page ranking) ([]candidate, error) {
	all := c.matches
	if c.reading == inNames {
		var err error
		if all, err = x.match(ctx, c.query.Match(false), maxMatches); err != nil {
			return nil, err
		}
	}
	if last := page.after; last != nil {
		if page.after = nil; last.Key[0] == 0 {
			page.after = &position{[3]float64{last.Key[1], last.Key[2]}, last.ID}
		}
	}
	rest, err := x.rank(ctx, all.without(scored), ranking{after: page.after, limit: page.limit})
	for i := range rest {
		k := &rest[i].Key
		k[0], k[1], k[2] = 0, k[0], k[1]
	}
	return rest, err
}

// byRelevance scores and sorts the first videos of the choice, and adds the tagged ones unless none of them can be on
// the first page. Each of these scores as an empty text does, and the traits bound its views. Where that scores less
// than the page's last, none of their titles lowers a score on the page: see sortByScore.
func (x *index) byRelevance(ctx context.Context, c choice) ([]candidate, error) {
	candidates := c.first
	if err := x.score(ctx, c.query, candidates); err != nil {
		return nil, err
	}
	if len(c.tagged) == 0 {
		sortByScore(candidates, c.query.IsWord())
		return candidates, nil
	}
	sorted := slices.Clone(candidates)
	watched := sortByScore(sorted, c.query.IsWord())
	if len(sorted) > x.q.Limit {
		if err := x.readTraits(ctx); err != nil {
			return nil, err
		}
		level := byte(0)
		for _, id := range c.tagged {
			level = max(level, x.kept.traits.trait(id)>>4)
		}
		inTags, _ := c.query.Score(text.Document{})
		if level < maxLevel && inTags*watched(viewsAt(level+1)) < sorted[x.q.Limit].score {
			return sorted, nil
		}
	}
	tagged, err := x.rank(ctx, c.tagged, ranking{limit: maxScored})
	if err == nil {
		err = x.score(ctx, c.query, tagged)
	}
	candidates = append(candidates, tagged...)
	sortByScore(candidates, c.query.IsWord())
	return candidates, err
}

// sortByScore weighs the views of scored candidates and sorts them. The more titles match, the more views weigh: with
// two matches the title decides, with two hundred the audience does. Repeated titles rank lower, the third far lower,
// so that they do not fill the first page. In a query of one word, titles with it come before titles where a longer
// word begins with it: C++ before Cats. It returns the factor that views multiply a score by.
func sortByScore(candidates []candidate, oneWord bool) (watched func(views float64) float64) {
	weight := 0.5 + 8*math.Pow(min(math.Log(float64(max(inTitleCount(candidates), 1)))/math.Log(manyInTitle), 1), 3)
	watched = func(views float64) float64 { return math.Pow(0.4+math.Log10(1+max(views, 0))/8, weight) }
	for i := range candidates {
		c := &candidates[i]
		c.score *= watched(c.Key[1])
		c.Key = [3]float64{1, c.score, c.Key[0]}
	}
	byPosition(candidates)
	earlier := map[string]float64{}
	for i := range candidates {
		c := &candidates[i]
		earlier[c.title]++
		n := earlier[c.title]
		c.score /= n * n * n
		if oneWord && c.titleShare == 1 && n < 3 {
			c.score += wholeWord
		}
		c.Key[1] = c.score
	}
	byPosition(candidates)
	return watched
}

// inTitleCount counts the candidates whose titles match the query.
func inTitleCount(candidates []candidate) (n int) {
	for _, c := range candidates {
		if c.titleShare > 0.85 {
			n++
		}
	}
	return n
}

// wholeWord is more than any score by text and views.
const wholeWord = 1000

// manyInTitle is how many matching titles give views their full weight.
const manyInTitle = 300

func byPosition(candidates []candidate) {
	slices.SortFunc(candidates, func(a, b candidate) int { return a.compare(b.position) })
}

// score scores the candidates by their texts.
func (x *index) score(ctx context.Context, query text.Query, candidates []candidate) error {
	err := x.known(ctx, idsOf(candidates))
	for i := range candidates {
		c := &candidates[i]
		v := x.kept.videos[c.ID]
		c.title = v.folded
		c.score, c.titleShare = query.Score(v.text)
	}
	return err
}
