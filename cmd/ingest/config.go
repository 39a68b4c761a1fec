package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/strictyaml"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// config is what the program runs with: flags over INGEST_* variables over the config file over
// defaults.
type config struct {
	file        string // the config file; "" for none
	account     string
	upstream    string
	upstreamURL string // "" is the upstream's own
	data        string
	ledger      string // "sqlite" or a Redis URL
	hosts       int    // data directories that share the ledger
	costs       string // "" is the file that was shipped
	costTable   string // "" is the one that costs chooses
	keyFile     string // from the config file only: the last place a key is looked for
	pingFile    string // from the config file only: the last place a dead man's switch is looked for
	listen      string // "" is nowhere
	concurrency int    // passes at once under serve
	staleAfter  int    // intervals until a region is stale
	jobs        []ingest.Job
}

// configFile mirrors the config file; packaging/ingest.example.yaml explains each field.
type configFile struct {
	Account     string    `yaml:"account"`
	Upstream    string    `yaml:"upstream"`
	UpstreamURL string    `yaml:"upstream_url"`
	Data        string    `yaml:"data"`
	Ledger      string    `yaml:"ledger"`
	Hosts       *int      `yaml:"hosts"`
	Costs       string    `yaml:"costs"`
	CostTable   string    `yaml:"cost_table"`
	KeyFile     string    `yaml:"key_file"`
	Concurrency *int      `yaml:"concurrency"`
	Listen      string    `yaml:"listen"`
	StaleAfter  *int      `yaml:"stale_after"`
	PingFile    string    `yaml:"ping_file"`
	Jobs        []jobFile `yaml:"jobs"`
}

type jobFile struct {
	Name     string   `yaml:"name"`
	Kind     string   `yaml:"kind"`
	Regions  []string `yaml:"regions"`
	Every    string   `yaml:"every"`
	Cron     string   `yaml:"cron"`
	Pages    *int     `yaml:"pages"`
	Category *string  `yaml:"category"`
	Query    string   `yaml:"query"`
}

// maxHosts divides the emergency budget into parts that are still of use.
const maxHosts = 50

// Bounds of what serve is told.
const (
	maxConcurrency = 32
	maxStaleAfter  = 1000
)

// maxFound is how many pages a search has: YouTube gives at most 500 of what it finds.
// https://developers.google.com/youtube/v3/docs/search/list
const maxFound = 10

// defaultJobs is the charts of eight regions every half hour, and the refresh. On YouTube that is 8 x 4 pages
// x 48 times a day, 1,536 units.
func defaultJobs(p provider) []ingest.Job {
	return []ingest.Job{
		{Name: "chart", Kind: ingest.KindChart, Regions: regions.Default(), Every: 30 * time.Minute, Pages: p.usual},
		{Name: "refresh", Kind: ingest.KindRefresh, Every: 24 * time.Hour},
	}
}

// load resolves the configuration.
func (f flags) load() (*config, error) {
	c := &config{file: f.pick("config", "INGEST_CONFIG", f.config)}
	file, err := c.read()
	if err != nil {
		return nil, badConfig(err)
	}
	for _, s := range []struct {
		into                       *string
		flag, env, given, file, by string
	}{
		{&c.data, "data", "INGEST_DATA", f.data, file.Data, ""},
		{&c.costs, "costs", "INGEST_COSTS", f.costs, file.Costs, ""},
		{&c.costTable, "cost-table", "INGEST_COST_TABLE", f.costTable, file.CostTable, ""},
		{&c.ledger, "ledger", "INGEST_LEDGER", f.ledger, file.Ledger, "sqlite"},
		{&c.upstreamURL, "upstream-url", "INGEST_UPSTREAM_URL", f.upstreamURL, file.UpstreamURL, ""},
		{&c.account, "", "INGEST_ACCOUNT", "", file.Account, "default"},
		{&c.listen, "", "INGEST_LISTEN", "", file.Listen, ""},
	} {
		*s.into = s.file
		if v := f.pick(s.flag, s.env, s.given); v != "" {
			*s.into = v
		}
		if *s.into == "" {
			*s.into = s.by
		}
	}
	c.keyFile, c.pingFile = file.KeyFile, file.PingFile
	for _, n := range []struct {
		into    *int
		field   string
		file    *int
		by, max int
		what    string
	}{
		{&c.hosts, "hosts", file.Hosts, 1, maxHosts, "how many data directories share the ledger"},
		{&c.concurrency, "concurrency", file.Concurrency, 4, maxConcurrency, "how many regions are fetched at once"},
		{&c.staleAfter, "stale_after", file.StaleAfter, 3, maxStaleAfter, "after how many intervals a region is stale"},
	} {
		if *n.into = n.by; n.file != nil {
			*n.into = *n.file
		}
		if *n.into < 1 || *n.into > n.max {
			return nil, badConfig(fmt.Errorf("%s: %s: %d is outside 1..%d: %s", c.file, n.field, *n.into, n.max, n.what))
		}
	}
	if err := quota.CheckAccount(c.account); err != nil {
		return nil, badConfig(err)
	}
	if c.data == "" {
		if c.data, err = defaultData(); err != nil {
			return nil, badConfig(err)
		}
	}
	return c, nil
}

// pick is the flag's value where it was given, else the variable's.
func (f flags) pick(flag, env, given string) string {
	if f.set != nil && f.set(flag) {
		return given
	}
	return os.Getenv(env)
}

// read decodes and checks the config file, and sets the jobs.
func (c *config) read() (configFile, error) {
	var file configFile
	if c.file == "" {
		return file, c.choose("")
	}
	data, err := os.ReadFile(c.file)
	if err != nil {
		return file, fmt.Errorf("read the config: %w: check --config and INGEST_CONFIG", err)
	}
	y, err := strictyaml.Decode(c.file, data, &file)
	if err == nil {
		err = c.choose(file.Upstream)
	}
	if err != nil || file.Jobs == nil {
		return file, err
	}
	if len(file.Jobs) == 0 {
		return file, y.Errorf([]string{"jobs"}, "jobs: is empty, so that nothing would ever run: leave it out for the default")
	}
	c.jobs = nil
	seen := map[string]bool{}
	for i, j := range file.Jobs {
		at := []string{"jobs", strconv.Itoa(i)}
		job, field, err := j.job(c.provider())
		if err == nil && seen[job.Name] {
			field, err = "name", fmt.Errorf("two jobs are called %s: give each its own name", job.Name)
		}
		if err != nil {
			return file, y.Errorf(append(at, field), "%v", err)
		}
		seen[job.Name] = true
		c.jobs = append(c.jobs, job)
	}
	return file, nil
}

// choose sets the upstream, INGEST_UPSTREAM before the file's, and the jobs that go with it.
func (c *config) choose(named string) error {
	c.upstream = cmp.Or(os.Getenv("INGEST_UPSTREAM"), named, "youtube")
	p, err := findProvider(c.upstream)
	c.jobs = defaultJobs(p)
	return err
}

// job checks one job and returns, with an error, the field that it is about.
func (j jobFile) job(p provider) (_ ingest.Job, field string, err error) {
	job := ingest.Job{Name: j.Name, Kind: ingest.Kind(j.Kind), Cron: j.Cron, Query: j.Query}
	if err := quota.CheckAccount(j.Name); err != nil {
		return job, "name", fmt.Errorf("job name %q: use 1 to 64 letters, digits, '.', '-' and '_'", j.Name)
	}
	if j.Every != "" {
		if job.Every, err = time.ParseDuration(j.Every); err != nil {
			return job, "every", fmt.Errorf("every: %q is not a duration such as 30m or 24h", j.Every)
		}
		if job.Every <= 0 {
			return job, "every", fmt.Errorf("every: %s must be above zero: try 30m", j.Every)
		}
	}
	for _, code := range j.Regions {
		r, err := regions.Parse(code)
		if err != nil {
			return job, "regions", err
		}
		for _, other := range job.Regions {
			if other == r {
				return job, "regions", fmt.Errorf("region %s is named twice", r)
			}
		}
		job.Regions = append(job.Regions, r)
	}
	if field, err := j.kind(p, &job); err != nil {
		return job, field, err
	}
	if _, err := regions.New(job); err != nil {
		field = "every"
		if j.Cron != "" {
			field = "cron"
		}
		return job, field, err
	}
	return job, "", nil
}

// kind checks and sets what a job has by its kind.
func (j jobFile) kind(p provider, job *ingest.Job) (field string, err error) {
	pages := 0
	switch job.Kind {
	case ingest.KindChart:
		if len(job.Regions) == 0 {
			job.Regions = regions.Default()
		}
		job.Pages, pages = p.usual, p.pages
	case ingest.KindSearch:
		if strings.TrimSpace(j.Query) == "" {
			return "query", errors.New("query: is empty: a search job needs the words that it searches for")
		}
		if !p.searches() {
			return "kind", errors.New("kind: this upstream cannot be searched: use chart or refresh")
		}
		job.Pages, pages = 1, maxFound
	case ingest.KindRefresh:
		if j.Pages != nil || j.Category != nil || len(j.Regions) > 0 {
			return "kind", errors.New("a refresh job takes name, kind and every or cron only")
		}
	default:
		return "kind", fmt.Errorf("kind: %q is not known: use chart, search or refresh", j.Kind)
	}
	if j.Query != "" && job.Kind != ingest.KindSearch {
		return "query", fmt.Errorf("query: only a search job has one, and this is of kind %s", job.Kind)
	}
	if j.Pages != nil {
		if job.Pages = *j.Pages; job.Pages < 1 || job.Pages > pages {
			return "pages", fmt.Errorf("pages: %d is outside 1..%d: a %s of this upstream ends there", job.Pages, pages, job.Kind)
		}
	}
	if j.Category != nil {
		if !p.category.MatchString(*j.Category) {
			return "category", fmt.Errorf("category: %q is not a category id such as 10, or 0 for all", *j.Category)
		}
		job.Category = *j.Category
	}
	return "", nil
}

// defaultData is where the store and the ledger are kept when nobody says: systemd's directory for
// the unit, else the machine's, else the user's.
func defaultData() (string, error) {
	if dir := os.Getenv("STATE_DIRECTORY"); dir != "" {
		first, _, _ := strings.Cut(dir, ":")
		return first, nil
	}
	const system = "/var/lib/ingest"
	switch f, err := os.Open(system); {
	case err == nil:
		_ = f.Close()
		return system, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s is there but cannot be read: %w: run as its owner, or give --data", system, err)
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "ingest"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no place for the data: %w: give --data", err)
	}
	return filepath.Join(home, ".local", "state", "ingest"), nil
}
