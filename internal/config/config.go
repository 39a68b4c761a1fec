// Package config resolves the program's configuration: flags, environment variables, the config file with its line
// numbers, the API key, and the clock. It also removes secrets from output.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/hooks"
	"github.com/trendvidstream/ingest/internal/strictyaml"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// Config is the program's configuration: flags, over INGEST_* variables, over the config file, over defaults.
type Config struct {
	File         string // the config file; "" for none
	Account      string
	Upstream     string
	UpstreamURL  string // "": the upstream's own
	Data         string
	Ledger       string   // "sqlite", or the URL of a Redis or PostgreSQL
	Store        string   // "sqlite" or the URL of a database in PostgreSQL
	Hosts        int      // data directories that share the ledger
	Costs        string   // "": the file that was shipped
	CostTable    string   // "": the one that Costs chooses
	KeyFile      string   // from the config file only: the last place to look for a key
	PingFile     string   // from the config file only: the last place to look for a dead man's switch
	AdminListen  string   // where serve answers everything but /v1/ and /livez; "": at Listen
	Listen       string   // "": nowhere
	BasePath     string   // where visitors see Listen, such as /ingest; "": at the root of their host
	OwnFrontEnd  bool     // the user says that others reach Listen only through the user's own front end
	Backups      []string // directories where backups are kept
	NoThumbnails bool     // thumbnails: off: pages show no pictures, which come from the provider's hosts
	Descriptions bool     // descriptions: on: fetch, keep and search the videos' descriptions
	Title        string   // the site's name on the pages; "": ingest
	Theme        []byte   // a stylesheet that every page loads after the built-in one; nil: none
	HideDerived  bool     // derived_metrics: off: figures computed from the provider's figures are never shown
	API          API
	Concurrency  int  // passes at once under serve
	StaleAfter   int  // intervals until a region is stale
	AccessLog    bool // each request to serve is logged
	Pacing       bool // slots are spread if the budget does not pay for their interval
	Jobs         []ingest.Job
	Hooks        []hooks.Hook
	Clients      []Client                 // of the gateway
	GatewayCache map[string]time.Duration // by method: how long the gateway reuses an answer

	GatewayListen string // where serve runs the gateway; "": nowhere
	ZeroOnStop    bool   // a run that quota stopped ends with exit code 0

	flags Flags
	lines *strictyaml.Document // of File; nil: none could be read
}

// at adds the config file's line to an error about a field, if the file has it and its value was the one used.
func (c *Config) at(field string, used bool, err error) error {
	if err == nil || !used || c.lines == nil || c.lines.Line([]string{field}) == 0 {
		return err
	}
	return c.lines.Errorf([]string{field}, "%s", strings.TrimPrefix(err.Error(), c.File+": "))
}

// RegionCodes returns the regions of all jobs, each once, in the order of the config.
func (c *Config) RegionCodes() (codes []string) {
	for _, job := range c.Jobs {
		for _, r := range job.Regions {
			if !slices.Contains(codes, string(r)) {
				codes = append(codes, string(r))
			}
		}
	}
	return codes
}

// JobLimits bound a job's settings, by the upstream.
type JobLimits struct {
	Pages       int            // the most that a chart has
	UsualPages  int            // a chart's default
	SearchPages int            // the most that a search has; 0: it cannot be searched
	Category    *regexp.Regexp // the form of a category's id

	Channel func(ref string) (string, error) // reads a channel as people name it; nil: it lists no uploads
	// reads a reference to a video, or returns why it is none; nil: no counts of chosen videos
	Video func(ref string) (id, why string)
}

// maxConfiguredHosts keeps each host's part of the emergency budget large enough to be of use.
const maxConfiguredHosts = 50

// Upper bounds of serve's settings.
const (
	MaxConcurrency = 32
	maxStaleAfter  = 1000
)

// DefaultJobs returns the charts of eight regions every half hour, and a daily refresh. On YouTube the charts cost 8
// regions x 4 pages x 48 times a day = 1,536 units.
func DefaultJobs(p JobLimits) []ingest.Job {
	return []ingest.Job{
		{Name: "chart", Kind: ingest.KindChart, Regions: regions.Default(), Every: 30 * time.Minute, Pages: p.UsualPages},
		{Name: "refresh", Kind: ingest.KindRefresh, Every: 24 * time.Hour},
	}
}

// Load resolves the configuration. Its error is an Error, exit 78. With an error it returns the values of flags,
// variables, the readable part of the file and defaults, so that doctor can examine the machine anyway.
func Load(f Flags, upstreams map[string]JobLimits) (*Config, error) {
	c := &Config{flags: f, File: f.configFile()}
	file, err := c.readFile(upstreams)
	if err != nil && c.chooseUpstream("", upstreams) != nil {
		c.Upstream, c.Jobs = "youtube", DefaultJobs(upstreams["youtube"])
	}
	err = cmp.Or(err, c.makePathsWhole(&file))
	err = cmp.Or(err, c.setHooks(file), c.setTexts(file))
	err = cmp.Or(err, c.setNumbers(file), c.at("pacing", os.Getenv("INGEST_PACING") == "", c.setPacing(file)),
		c.setPages(file), c.setStopExit(),
		c.at("account", c.Account == file.Account, quota.CheckAccount(c.Account)),
		c.at("ledger", c.Ledger == file.Ledger, CheckLedger(c.Ledger)),
		c.at("store", c.Store == file.Store, CheckStore(c.Store)),
		c.at("listen", c.Listen == file.Listen, CheckListen(c.Listen)),
		c.at("admin_listen", c.AdminListen == file.AdminListen, CheckListen(c.AdminListen)))
	if quota.CheckAccount(c.Account) != nil {
		c.Account = "default"
	}
	if c.Data == "" {
		var none error
		c.Data, none = defaultData()
		err = cmp.Or(err, none)
	}
	return c, Invalid(err)
}

// CheckListen refuses a text that is not an address to listen at; "" is nowhere.
func CheckListen(address string) error {
	if address == "" {
		return nil
	}
	if _, port, err := net.SplitHostPort(address); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return Invalid(fmt.Errorf("listen %q: port %q is not a number from 0 to 65535", address, port))
		}
		return nil
	}
	hint := ""
	if port, err := strconv.ParseUint(address, 10, 16); err == nil {
		hint = fmt.Sprintf(": did you mean 127.0.0.1:%d?", port)
	}
	return Invalid(fmt.Errorf("listen %q is not an address such as 127.0.0.1:8080%s", address, hint))
}

// setTexts sets the text fields: by flag, else variable, else the file, else the default.
func (c *Config) setTexts(file configFile) (err error) {
	f := c.flags
	for _, s := range []struct {
		into                       *string
		flag, env, given, file, by string
	}{
		{&c.Data, "data", "INGEST_DATA", f.Data, file.Data, ""},
		{&c.Costs, "costs", "INGEST_COSTS", f.Costs, file.Costs, ""},
		{&c.CostTable, "cost-table", "INGEST_COST_TABLE", f.CostTable, file.CostTable, ""},
		{&c.Ledger, "ledger", "INGEST_LEDGER", f.Ledger, file.Ledger, "sqlite"},
		{&c.Store, "store", "INGEST_STORE", f.Store, file.Store, "sqlite"},
		{&c.UpstreamURL, "upstream-url", "INGEST_UPSTREAM_URL", f.UpstreamURL, file.UpstreamURL, ""},
		{&c.Account, "", "INGEST_ACCOUNT", "", file.Account, "default"},
		{&c.Listen, "", "INGEST_LISTEN", "", file.Listen, ""},
		{&c.AdminListen, "", "INGEST_ADMIN_LISTEN", "", file.AdminListen, ""},
		{&c.BasePath, "", "INGEST_BASE_PATH", "", file.BasePath, ""},
	} {
		*s.into = cmp.Or(f.Pick(s.flag, s.env, s.given), s.file, s.by)
	}
	c.KeyFile, c.PingFile, c.OwnFrontEnd, c.Backups = file.KeyFile, file.PingFile, file.OwnFrontEnd, file.Backups
	if text := os.Getenv("INGEST_OWN_FRONT_END"); text != "" {
		c.OwnFrontEnd, err = strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("INGEST_OWN_FRONT_END=%q is not known: use true or false", text)
		}
	}
	return nil
}

func (c *Config) setNumbers(file configFile) (err error) {
	for _, n := range []struct {
		into    *int
		field   string
		file    *int
		by, max int
		what    string
	}{
		{&c.Hosts, "hosts", file.Hosts, 1, maxConfiguredHosts, "how many data directories share the ledger"},
		{&c.Concurrency, "concurrency", file.Concurrency, 4, MaxConcurrency, "how many regions are fetched at once"},
		{&c.StaleAfter, "stale_after", file.StaleAfter, regions.DefaultStaleAfter, maxStaleAfter,
			"after how many intervals a region is stale"},
	} {
		if *n.into = n.by; n.file != nil {
			*n.into = *n.file
		}
		if given := *n.into; given < 1 || given > n.max {
			*n.into = n.by
			err = cmp.Or(err,
				c.at(n.field, true, fmt.Errorf("%s: %s: %d is outside 1..%d: %s", c.File, n.field, given, n.max, n.what)))
		}
	}
	return err
}

// setPacing reads how slots are spread: from INGEST_PACING, else the file, else auto.
func (c *Config) setPacing(file configFile) error {
	how := cmp.Or(os.Getenv("INGEST_PACING"), file.Pacing, "auto")
	c.Pacing = how != "off"
	if how != "auto" && how != "off" {
		return fmt.Errorf("pacing: %q is not known: use auto or off", how)
	}
	return nil
}

// setStopExit reads the exit code of a run that quota stopped, for schedulers that alarm at any but 0.
func (c *Config) setStopExit() error {
	code := os.Getenv("INGEST_STOP_EXIT")
	c.ZeroOnStop = code == "0"
	if code != "" && code != "0" && code != "75" {
		return fmt.Errorf("INGEST_STOP_EXIT=%q is not known: use 0 or 75", code)
	}
	return nil
}

// maxTheme bounds the theme, which every page loads, in bytes.
const maxTheme = 64 << 10

// setPages reads the content and look of the pages, and whether requests for them are logged.
func (c *Config) setPages(file configFile) error {
	for _, field := range []struct{ name, value string }{{"access_log", file.AccessLog}, {"thumbnails", file.Thumbnails},
		{"descriptions", file.Describe}, {"derived_metrics", file.Derived}} {
		if field.value != "" && field.value != "on" && field.value != "off" {
			return c.at(field.name, true, fmt.Errorf("%s: %s: %q is not known: use on or off", c.File, field.name, field.value))
		}
	}
	c.AccessLog, c.NoThumbnails, c.HideDerived = file.AccessLog == "on", file.Thumbnails == "off", file.Derived == "off"
	c.Descriptions = file.Describe == "on"
	const longest = 60
	if c.Title = strings.TrimSpace(file.PageSettings.Title); utf8.RuneCountInString(c.Title) > longest {
		return fmt.Errorf("%s: pages: title: it has more than %d characters: shorten it", c.File, longest)
	}
	if file.Theme == "" {
		return nil
	}
	css, err := strictyaml.ReadFile(file.Theme)
	switch {
	case err != nil:
		return c.at("theme", true,
			fmt.Errorf("%s: theme: %w: name a CSS file that this user may read, or leave it out", c.File, err))
	case len(css) > maxTheme || !utf8.Valid(css):
		return c.at("theme", true, fmt.Errorf("%s: theme: %s is not a CSS file of at most %d kB in UTF-8",
			c.File, file.Theme, maxTheme>>10))
	}
	c.Theme = css
	return nil
}

// readFile decodes and checks the config file, and sets the upstream and the jobs.
func (c *Config) readFile(upstreams map[string]JobLimits) (configFile, error) {
	var file configFile
	if c.File == "" {
		return file, c.chooseUpstream("", upstreams)
	}
	data, err := strictyaml.ReadFile(c.File)
	if err != nil {
		return file, fmt.Errorf("read the config: %w: check --config and INGEST_CONFIG", err)
	}
	y, err := strictyaml.Decode(c.File, data, &file)
	if err != nil {
		file = configFile{}
		if !strictyaml.Salvage(data, &file) {
			file = configFile{}
		}
	}
	c.lines = y
	err = cmp.Or(err, checkPasswordFile(c.File, file.Ledger, file.Store))
	if err == nil {
		err = c.chooseUpstream(file.Upstream, upstreams)
		err = c.at("upstream", c.Upstream == file.Upstream, err)
	}
	if err == nil {
		c.API, err = file.API.toAPI(y)
	}
	if err == nil {
		err = c.setGateway(file, y)
	}
	if err != nil || file.Jobs == nil && y.Line([]string{"jobs"}) == 0 {
		return file, err
	}
	if len(file.Jobs) == 0 {
		return file, y.Errorf([]string{"jobs"},
			"jobs: is empty, so that nothing would ever run: leave it out for the default")
	}
	c.Jobs = nil
	seen := map[string]bool{}
	for i, j := range file.Jobs {
		at := []string{"jobs", strconv.Itoa(i)}
		if j.File != "" && !filepath.IsAbs(j.File) {
			j.File = filepath.Join(filepath.Dir(c.File), j.File)
		}
		job, field, err := j.toJob(upstreams[c.Upstream])
		if err == nil && seen[job.Name] {
			field, err = "name", fmt.Errorf("two jobs are called %q: give each its own name", job.Name)
		}
		if err != nil {
			return file, y.Errorf(append(at, field), "%v", err)
		}
		seen[job.Name] = true
		c.Jobs = append(c.Jobs, job)
	}
	return file, nil
}

// chooseUpstream sets the upstream, from INGEST_UPSTREAM, else the file, and its default jobs.
func (c *Config) chooseUpstream(named string, upstreams map[string]JobLimits) error {
	c.Upstream = cmp.Or(os.Getenv("INGEST_UPSTREAM"), named, "youtube")
	p, ok := upstreams[c.Upstream]
	if !ok {
		return fmt.Errorf("upstream %q is not known to this program: use %s", c.Upstream,
			strings.Join(slices.Sorted(maps.Keys(upstreams)), " or "))
	}
	c.Jobs = DefaultJobs(p)
	return nil
}

// Flags are the global flags as a person gave them. Config merges them with all other sources.
type Flags struct {
	Config, Data, Costs, CostTable, Ledger, Store, UpstreamURL, KeyFile string
	Set                                                                 func(name string) bool // whether it was given
}

// configFile returns the named file, else the user's or the machine's if there is one; "" for none. If the
// lookup of the machine's file fails, that file counts as present.
func (f Flags) configFile() string {
	if file := f.Pick("config", "INGEST_CONFIG", f.Config); file != "" || f.Set != nil && f.Set("config") {
		return file
	}
	const ours = "ingest/ingest.yaml"
	if dir, err := os.UserConfigDir(); err == nil && FileExists(filepath.Join(dir, ours)) {
		return filepath.Join(dir, ours)
	}
	if _, err := os.Stat(filepath.Join("/etc", ours)); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return filepath.Join("/etc", ours)
}

// Pick returns the flag's value if it was given, else the value of the environment variable.
func (f Flags) Pick(flag, env, given string) string {
	if f.Set != nil && f.Set(flag) {
		return given
	}
	return os.Getenv(env)
}
