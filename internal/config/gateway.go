package config

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/internal/strictyaml"
	"github.com/trendvidstream/ingest/quota"
)

// Client is another tool that may spend quota through the gateway.
type Client struct {
	Name        string
	TokenSHA256 [32]byte
	Limits      []quota.Pool // its own, by the names of the provider's pools
}

// gatewayFile mirrors gateway: in the config file.
type gatewayFile struct {
	Listen string            `yaml:"listen"`
	Cache  map[string]string `yaml:"cache"`
}

type clientFile struct {
	TokenSHA256 string                      `yaml:"token_sha256"`
	Limits      map[string]map[string]int64 `yaml:"limits"`
}

// longestCache is a day, since a provider's terms ask for data to be fetched again.
const longestCache = 24 * time.Hour

// setGateway reads gateway: and clients:. Methods and pools are checked against the costs elsewhere.
func (c *Config) setGateway(file configFile, y *strictyaml.Document) error {
	c.GatewayCache = map[string]time.Duration{}
	for method, text := range file.Gateway.Cache {
		ttl, err := parseSpan(text)
		if err != nil || ttl <= 0 || ttl > longestCache {
			return y.Errorf([]string{"gateway", "cache", method},
				"cache %q: use a duration above zero and up to 24h, such as 5m", text)
		}
		c.GatewayCache[method] = ttl
	}
	for _, name := range slices.Sorted(maps.Keys(file.Clients)) {
		client, at := file.Clients[name], []string{"clients", name}
		sum, err := parseSum(client.TokenSHA256)
		if err != nil {
			return y.Errorf(at, "client %s: token_sha256 %v", name, err)
		}
		if quota.CheckAccount(name) != nil {
			return y.Errorf(at, "client %q: use 1 to 64 letters, digits, '.', '-' and '_'", name)
		}
		var limits []quota.Pool
		for _, pool := range slices.Sorted(maps.Keys(client.Limits)) {
			windows, _, err := parseWindows(client.Limits[pool])
			if err != nil {
				return y.Errorf(append(at, "limits"), "client %s: %s: %v", name, pool, err)
			}
			limits = append(limits, quota.Pool{Name: pool, Windows: windows})
		}
		c.Clients = append(c.Clients, Client{name, sum, limits})
	}
	if c.GatewayListen = file.Gateway.Listen; c.GatewayListen == "" {
		return nil
	}
	if err := c.CheckGateway(c.GatewayListen); err != nil {
		return y.Errorf([]string{"gateway", "listen"}, "gateway: %v", err)
	}
	return nil
}

// CheckGateway refuses an address where the gateway must not listen.
func (c *Config) CheckGateway(listen string) error {
	if err := CheckListen(listen); err != nil {
		return err
	}
	if len(c.Clients) == 0 && !IsLoopbackURL("http://"+listen) {
		return Invalid(fmt.Errorf("listen %s: any client that reaches it could spend the quota: "+
			"name clients: in the config, or listen at 127.0.0.1:8090", listen))
	}
	return nil
}

// GatewayLimits returns the clients' own limits as a tariff takes them.
func (c *Config) GatewayLimits() map[string][]quota.Pool {
	limits := map[string][]quota.Pool{}
	for _, client := range c.Clients {
		limits[client.Name] = client.Limits
	}
	return limits
}
