package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

const howToRun = `# The quota ledgers, measured

` + "`make bench`, or in `bench/`: `go run ./ledgers -write`" + `. It needs redis-server 7 or newer (` + "`REDIS_SERVER`" + ` or in
` + "`PATH`" + `) and starts one of its own on a free loopback port; nothing else is touched. ` + "`-only speed,memory,writers,exact,sqlite`" + `
runs parts, ` + "`-batches N`" + ` makes it shorter or calmer, ` + "`-disk DIR`" + ` says where fsync is real, ` + "`-memory DIR`" + ` where it is free. The peers
are pinned by the ` + "`go.mod`" + ` of ` + "`bench/`" + `, a module of its own. Everything below is the output of one run; ok and miss are computed
from its figures. Compare ratios: microseconds belong to the machine.

`

// report is the document, part by part, and the goals as they were met.
type report struct {
	head  strings.Builder
	body  strings.Builder
	goals [][]string
}

func (r *report) section(title, how string) { fmt.Fprintf(&r.body, "\n## %s\n\n%s\n\n", title, how) }

// goal adds a line to the table of goals.
func (r *report) goal(what, want, got string, ok bool) {
	verdict := "**miss**"
	if ok {
		verdict = "ok"
	}
	r.goals = append(r.goals, []string{what, want, got, verdict})
}

func (r *report) table(header []string, rows [][]string) { table(&r.body, header, rows) }

func (r *report) markdown() string {
	var b strings.Builder
	b.WriteString(r.head.String())
	b.WriteString("\n## Goals\n\n")
	table(&b, []string{"", "goal", "measured", ""}, r.goals)
	b.WriteString(r.body.String())
	return b.String()
}

func table(b *strings.Builder, header []string, rows [][]string) {
	line := func(cells []string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }
	line(header)
	rule := make([]string, len(header))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
}

// machine says what the figures were measured on.
func (r *report) machine(ctx context.Context, s *server) error {
	redisVersion, err := s.info(ctx, "server", "redis_version")
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var sqliteVersion string
	if err := db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&sqliteVersion); err != nil {
		return err
	}
	fmt.Fprintf(&r.head, "%s. %s, %d cores, %s/%s%s. %s, Redis %s, SQLite %s, go-redis %s.\n",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), cpu(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, load(),
		runtime.Version(), redisVersion, sqliteVersion, versionOf("github.com/redis/go-redis/v9"))
	return nil
}

// load is how busy the machine was before the run, where it says so.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	one, _, _ := strings.Cut(string(text), " ")
	return ", load " + one + " before the run"
}

func cpu() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// label is the peer's name with its version.
func (p peer) label() string {
	if p.module == "" {
		return p.name
	}
	return p.name + " " + versionOf(p.module)
}

func versionOf(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == module {
				return d.Version
			}
		}
	}
	return "of unknown version"
}
