package config

import "os"

// Flags are the global flags that say what the program runs with.
type Flags struct {
	Config, Data, Costs, CostTable, Ledger, UpstreamURL, KeyFile string
	Set                                                          func(name string) bool // was it given
}

// Pick is the flag's value where it was given, else that of the environment variable.
func (f Flags) Pick(flag, env, given string) string {
	if f.Set != nil && f.Set(flag) {
		return given
	}
	return os.Getenv(env)
}
