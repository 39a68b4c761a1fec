package config

import (
	"os"

	"github.com/trendvidstream/ingest/internal/strictyaml"
	"github.com/trendvidstream/ingest/quota"
)

// Salvage makes the best of a configuration that Load refuses, so that doctor can examine the machine anyway: it
// uses flags, variables, as much of the file as can be read, and defaults.
func Salvage(f Flags, upstreams map[string]JobLimits) *Config {
	var file configFile
	if data, err := os.ReadFile(f.Pick("config", "INGEST_CONFIG", f.Config)); err == nil {
		if !strictyaml.Salvage(data, &file) {
			file = configFile{}
		}
	}
	said := f
	for _, s := range []struct {
		into            *string
		flag, env, file string
	}{
		{&said.Data, "data", "INGEST_DATA", file.Data},
		{&said.Costs, "costs", "INGEST_COSTS", file.Costs},
		{&said.CostTable, "cost-table", "INGEST_COST_TABLE", file.CostTable},
		{&said.Ledger, "ledger", "INGEST_LEDGER", file.Ledger},
		{&said.UpstreamURL, "upstream-url", "INGEST_UPSTREAM_URL", file.UpstreamURL},
	} {
		if *s.into = f.Pick(s.flag, s.env, *s.into); *s.into == "" {
			*s.into = s.file
		}
	}
	said.Config = ""
	said.Set = func(name string) bool { return name != "" }
	c, err := Load(said, upstreams)
	if err != nil { // a variable that no flag replaces, or no place for the data
		c = &Config{Account: "default", Upstream: "youtube", UpstreamURL: said.UpstreamURL, Data: said.Data,
			Ledger: said.Ledger, Hosts: 1, Costs: said.Costs, CostTable: said.CostTable, Jobs: DefaultJobs(upstreams["youtube"]), flags: f}
		if c.Ledger == "" {
			c.Ledger = "sqlite"
		}
	}
	if os.Getenv("INGEST_ACCOUNT") == "" && quota.CheckAccount(file.Account) == nil {
		c.Account = file.Account
	}
	c.KeyFile = file.KeyFile
	return c
}
