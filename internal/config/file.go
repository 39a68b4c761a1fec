package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// configFile mirrors the config file; packaging/ingest.example.yaml explains each field.
type configFile struct {
	Account     string   `yaml:"account"`
	Upstream    string   `yaml:"upstream"`
	UpstreamURL string   `yaml:"upstream_url"`
	Data        string   `yaml:"data"`
	Ledger      string   `yaml:"ledger"`
	Store       string   `yaml:"store"`
	Hosts       *int     `yaml:"hosts"`
	Costs       string   `yaml:"costs"`
	CostTable   string   `yaml:"cost_table"`
	KeyFile     string   `yaml:"key_file"`
	Concurrency *int     `yaml:"concurrency"`
	Listen      string   `yaml:"listen"`
	AdminListen string   `yaml:"admin_listen"`
	BasePath    string   `yaml:"base_path"`
	OwnFrontEnd bool     `yaml:"own_front_end"`
	Backups     []string `yaml:"backups"`
	Thumbnails  string   `yaml:"thumbnails"`
	Describe    string   `yaml:"descriptions"`
	Derived     string   `yaml:"derived_metrics"`
	Theme       string   `yaml:"theme"`

	PageSettings struct {
		Title string `yaml:"title"`
	} `yaml:"pages"`

	API        apiFile   `yaml:"api"`
	StaleAfter *int      `yaml:"stale_after"`
	Pacing     string    `yaml:"pacing"`
	AccessLog  string    `yaml:"access_log"`
	PingFile   string    `yaml:"ping_file"`
	Jobs       []jobFile `yaml:"jobs"`

	Hooks []hookFile `yaml:"hooks"`

	Gateway gatewayFile           `yaml:"gateway"`
	Clients map[string]clientFile `yaml:"clients"`
}

// makePathsWhole makes relative paths absolute, from the directory of the config file: cron, systemd and a shell start
// ingest in different directories, and each would get a ledger of its own, with the whole quota. A secret that is
// given by mistake in place of its file's name stays unchanged, since no message shows it.
func (c *Config) makePathsWhole(f *configFile) error {
	dir, err := filepath.Abs(filepath.Dir(c.File))
	type field struct {
		name   string
		path   *string
		secret bool
	}
	paths := []field{{"key_file", &f.KeyFile, true}, {"ping_file", &f.PingFile, true}, {"data", &f.Data, false},
		{"costs", &f.Costs, false}, {"theme", &f.Theme, false}}
	for i := range f.Backups {
		paths = append(paths, field{"backups", &f.Backups[i], false})
	}
	for i := range f.Hooks {
		for name, path := range f.Hooks[i].files() {
			paths = append(paths, field{"hooks", path, name != "run"})
		}
	}
	for _, p := range paths {
		whole := filepath.Join(dir, *p.path)
		switch {
		case *p.path == "" && p.name == "backups":
			err = cmp.Or(err, c.at(p.name, true, errors.New("backups: a directory has no name")))
		case strings.HasPrefix(*p.path, "~"), strings.HasPrefix(*p.path, "$") && !p.secret:
			err = cmp.Or(err, c.at(p.name, true,
				fmt.Errorf("%s: %s: %.1s means nothing outside a shell: write the whole path", c.File, *p.path, *p.path)))
		case *p.path != "" && !filepath.IsAbs(*p.path) && (FileExists(whole) || !p.secret):
			*p.path = whole
		}
	}
	return err
}

// Hint says what to do about an unknown field.
func (*configFile) Hint(field string) string {
	switch field {
	case "key", "api_key":
		return "a key is a secret and does not belong here: put it into a file of mode 600, and name that with key_file:"
	case "keys", "key_files", "accounts", "projects":
		return OneKey
	}
	return ""
}

type jobFile struct {
	Name     string   `yaml:"name"`
	Kind     string   `yaml:"kind"`
	Regions  []string `yaml:"regions"`
	Every    string   `yaml:"every"`
	Cron     string   `yaml:"cron"`
	Stagger  string   `yaml:"stagger"`
	Pages    *int     `yaml:"pages"`
	Category *string  `yaml:"category"`
	Query    string   `yaml:"query"`
	Queries  []string `yaml:"queries"`
	Channels []string `yaml:"channels"`
	IDs      []string `yaml:"ids"`
	From     string   `yaml:"from"`
	Charted  string   `yaml:"charted"`
	File     string   `yaml:"file"`
}

// toJob checks one job and returns, with an error, the field at fault.
func (j jobFile) toJob(p JobLimits) (_ ingest.Job, field string, err error) {
	job := ingest.Job{Name: j.Name, Kind: ingest.Kind(j.Kind), Cron: j.Cron, Query: j.Query}
	if err := quota.CheckAccount(j.Name); err != nil {
		return job, "name", fmt.Errorf("job name %q: use 1 to 64 letters, digits, '.', '-' and '_'", j.Name)
	}
	if j.Every != "" {
		if job.Every, err = parseSpan(j.Every); err != nil {
			return job, "every", fmt.Errorf("every: %q is not a duration such as 30m, 24h or 7d", j.Every)
		}
		if job.Every <= 0 {
			return job, "every", fmt.Errorf("every: %s must be above zero: try 30m", j.Every)
		}
	}
	if job.AtOnce = j.Stagger == "off"; !job.AtOnce && j.Stagger != "" && j.Stagger != "on" {
		return job, "stagger", fmt.Errorf("stagger: %q is neither on nor off", j.Stagger)
	}
	for _, code := range j.Regions {
		r, err := regions.Parse(code)
		if err != nil {
			return job, "regions", err
		}
		if slices.Contains(job.Regions, r) {
			return job, "regions", fmt.Errorf("region %s is named twice", r)
		}
		job.Regions = append(job.Regions, r)
	}
	if field, err := j.setKind(p, &job); err != nil {
		return job, field, err
	}
	if _, err := regions.NewJobSchedule(job); err != nil {
		field = "every"
		if j.Cron != "" {
			field = "cron"
		}
		return job, field, err
	}
	return job, "", nil
}

// setKind checks and sets the fields that depend on a job's kind.
func (j jobFile) setKind(p JobLimits, job *ingest.Job) (field string, err error) {
	pages := 0
	switch job.Kind {
	case ingest.KindChart:
		if len(job.Regions) == 0 {
			job.Regions = regions.Default()
		}
		job.Pages, pages = p.UsualPages, p.Pages
	case ingest.KindSearch:
		if field, err := j.setQueries(job); err != nil {
			return field, err
		}
		if p.SearchPages == 0 {
			return "kind", errors.New("kind: this upstream cannot be searched: use chart or refresh")
		}
		job.Pages, pages = 1, p.SearchPages
	case ingest.KindRefresh:
		if j.Pages != nil || j.Category != nil || len(j.Regions) > 0 {
			return "kind", errors.New("a refresh job takes name, kind and every or cron only")
		}
	case ingest.KindUploads:
		return j.setChannels(p, job)
	case ingest.KindVideos:
		return j.setVideos(p, job)
	default:
		return "kind", fmt.Errorf("kind: %q is not known: use chart, search, uploads, videos or refresh", j.Kind)
	}
	if j.Query != "" && job.Kind != ingest.KindSearch {
		return "query", fmt.Errorf("query: only a search job has one, and this job is of kind %s", job.Kind)
	}
	for _, of := range []struct {
		field string
		given bool
		kinds []ingest.Kind
	}{
		{"queries", len(j.Queries) > 0, []ingest.Kind{ingest.KindSearch}},
		{"channels", len(j.Channels) > 0, nil},
		{"ids", len(j.IDs) > 0, nil},
		{"from", j.From != "", nil},
		{"charted", j.Charted != "", nil},
		{"file", j.File != "", []ingest.Kind{ingest.KindSearch}},
	} {
		if of.given && !slices.Contains(of.kinds, job.Kind) {
			return of.field, fmt.Errorf("%s: a job of kind %s has none", of.field, job.Kind)
		}
	}
	if j.Pages != nil {
		if job.Pages = *j.Pages; job.Pages < 1 || job.Pages > pages {
			return "pages", fmt.Errorf("pages: %d is outside 1..%d, the pages of a %s of this upstream",
				job.Pages, pages, job.Kind)
		}
	}
	if j.Category != nil {
		if !p.Category.MatchString(*j.Category) {
			return "category", fmt.Errorf("category: %q is not a category id such as 10, or 0 for all", *j.Category)
		}
		job.Category = *j.Category
	}
	return "", nil
}

func (j jobFile) setQueries(job *ingest.Job) (field string, err error) {
	job.Queries, field, err = j.list("queries", j.Queries, mostListed, func(query string) (string, error) {
		if query = strings.Join(strings.Fields(query), " "); query == "" || len(query) > longestQuery {
			return "", fmt.Errorf("%.40q: a query has 1 to %d bytes", query, longestQuery)
		}
		return query, nil
	})
	switch one := strings.TrimSpace(j.Query) != ""; {
	case err != nil:
		return field, err
	case one && len(job.Queries) > 0:
		return "query", errors.New("query: and queries: are both set: use one of them")
	case !one && len(job.Queries) == 0:
		return "query", errors.New("query: is empty: a search job needs the words that it searches for, " +
			"or a list of queries:")
	case len(job.Queries) > 0 && len(job.Regions) > 1:
		return "regions", errors.New("regions: a job with queries: has one region at most: make one job for each region")
	}
	return "", nil
}

func (j jobFile) setChannels(p JobLimits, job *ingest.Job) (field string, err error) {
	switch {
	case p.Channel == nil:
		return "kind", errors.New("kind: this upstream lists no uploads of channels: use chart or refresh")
	case j.Pages != nil || j.Category != nil || len(j.Regions)+len(j.Queries)+len(j.IDs) > 0 ||
		j.Query+j.From+j.Charted != "":
		return "kind", errors.New("an uploads job takes name, kind, channels, file, stagger and every or cron only")
	}
	if job.Channels, field, err = j.list("channels", j.Channels, mostListed, p.Channel); err == nil &&
		len(job.Channels) == 0 {
		return "channels", errors.New("channels: is empty: an uploads job needs the channels that it watches")
	}
	return field, err
}

func (j jobFile) setVideos(p JobLimits, job *ingest.Job) (field string, err error) {
	switch {
	case p.Video == nil:
		return "kind", errors.New("kind: this upstream gives no counts of chosen videos: use chart or refresh")
	case j.Pages != nil || j.Category != nil || len(j.Regions)+len(j.Queries)+len(j.Channels) > 0 || j.Query != "":
		return "kind", errors.New("a videos job takes name, kind, ids, file, from, charted and every or cron only")
	case j.From != "" && j.From != "charts":
		return "from", fmt.Errorf("from: %q is not known: use charts", j.From)
	case j.From == "" && j.Charted != "":
		return "charted", errors.New("charted: is for from: charts")
	}
	if j.From != "" {
		job.Charted, err = parseSpan(cmp.Or(j.Charted, "7d"))
		if err != nil || job.Charted <= 0 || job.Charted > ingest.KeepFor {
			return "charted", fmt.Errorf("charted: %q is not a time such as 7d, of at most 29d", j.Charted)
		}
	}
	job.Videos, field, err = j.list("ids", j.IDs, mostVideos, func(text string) (string, error) {
		id, why := p.Video(text)
		if why != "" {
			return "", errors.New(why)
		}
		return id, nil
	})
	if err == nil && len(job.Videos) == 0 && job.Charted == 0 {
		return "ids", errors.New("ids: is empty: a videos job needs ids:, a file: or from: charts")
	}
	return field, err
}

const (
	mostVideos   = 50_000 // of a watch list
	mostListed   = 1000   // bounds the series of one job
	longestQuery = 200    // in bytes
)

// list returns the items of a field and of the job's file, each once, as read returns them. The file has one a line;
// empty lines and lines that begin with # are left out.
func (j jobFile) list(name string, given []string, most int,
	read func(string) (string, error)) (items []string, field string, err error) {
	known := map[string]bool{}
	add := func(item string) error {
		item, err := read(item)
		if err == nil && !known[item] {
			known[item] = true
			items = append(items, item)
		}
		return err
	}
	for _, item := range given {
		if err := add(item); err != nil {
			return nil, name, fmt.Errorf("%s: %w", name, err)
		}
	}
	if j.File != "" {
		text, err := os.ReadFile(j.File)
		if err != nil {
			return nil, "file", fmt.Errorf("file: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			if err := add(line); err != nil {
				return nil, "file", fmt.Errorf("file: %s: %w", j.File, err)
			}
		}
	}
	if len(items) > most {
		return nil, name, fmt.Errorf("%s: %d are more than %d: make it two jobs", name, len(items), most)
	}
	return items, "", nil
}
