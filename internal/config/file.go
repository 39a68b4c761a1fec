package config

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
