package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/fetch/wire"
	"github.com/trendvidstream/ingest/internal/strictyaml"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/httplimit"
)

// API configures the API under /v1/: who may ask, for what, and how often.
type API struct {
	httplimit.Config // the limits of clients, without a ledger; ClientLimits has the default if Limits is nil

	Hosts, Origins []string
}

// apiFile mirrors api: in the config file.
type apiFile struct {
	Hosts         []string                        `yaml:"hosts"`
	Origins       []string                        `yaml:"origins"`
	Limits        map[string]limitFile            `yaml:"limits"`
	Outer         map[string]limitFile            `yaml:"outer"`
	Address       map[string]limitFile            `yaml:"address"`
	Plans         map[string]map[string]limitFile `yaml:"plans"`
	Tokens        []tokenFile                     `yaml:"tokens"`
	Proxies       []string                        `yaml:"proxies"`
	Forwarding    string                          `yaml:"forwarding"`
	Allow         []string                        `yaml:"allow"`
	Deny          []string                        `yaml:"deny"`
	Callers       []string                        `yaml:"callers"`
	Routes        []routeFile                     `yaml:"routes"`
	Failure       failureFile                     `yaml:"failure"`
	Headers       fieldNames                      `yaml:"headers"`
	Observe       bool                            `yaml:"observe"`
	LogClients    httplimit.ClientNames           `yaml:"log_clients"`
	SuccessesOnly bool                            `yaml:"successes_only"`
}

type tokenFile struct {
	Client string `yaml:"client"`
	Plan   string `yaml:"plan"`
	SHA256 string `yaml:"sha256"`
	Caller bool   `yaml:"caller"`
}

type routeFile struct {
	Name   string               `yaml:"name"`
	Match  string               `yaml:"match"`
	Cost   *int64               `yaml:"cost"`
	Limits map[string]limitFile `yaml:"limits"`
}

type failureFile struct {
	OpenAtMost string `yaml:"open_at_most"`
	Emergency  string `yaml:"emergency"`
}

// limitFile is a number, or a limit with options.
type limitFile struct {
	Limit   int64 `yaml:"limit"`
	Observe bool  `yaml:"observe"`
}

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (f *limitFile) UnmarshalYAML(decode func(any) error) error {
	type options limitFile
	if decode(&map[string]any{}) == nil {
		return decode((*options)(f))
	}
	return decode(&f.Limit)
}

// fieldNames are one name or a list.
type fieldNames []httplimit.Fields

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (f *fieldNames) UnmarshalYAML(decode func(any) error) error {
	*f = make([]httplimit.Fields, 1)
	if decode(&(*f)[0]) == nil {
		return nil
	}
	return decode((*[]httplimit.Fields)(f))
}

// parsePart reads a percentage as a part of 1. An empty text gives 0, which stands for the default, and 0% gives -1.
func parsePart(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	number, ok := strings.CutSuffix(text, "%")
	percent, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(percent >= 0 && percent <= 100) {
		return 0, fmt.Errorf("%q is not a percentage: use 0%% to 100%%, such as 10%%", text)
	}
	if percent == 0 {
		return -1, nil
	}
	return percent / 100, nil
}

func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && u.Scheme+"://"+u.Host == text && (u.Scheme == "https" || u.Scheme == "http")
}

// Origins is a flag that adds an origin each time it is given.
func Origins(into *[]string) *FlagValue {
	return &FlagValue{kind: "string", set: func(text string) error {
		if !isOrigin(text) {
			return FlagError(fmt.Sprintf(" %q: use one such as http://localhost:5173, without a path", text))
		}
		*into = append(*into, text)
		return nil
	}}
}

// toAPI checks the file's own rules; quota/httplimit refuses limits that contradict each other.
func (f apiFile) toAPI(y *strictyaml.Document) (a API, err error) {
	a = API{Hosts: f.Hosts, Origins: f.Origins, Config: httplimit.Config{
		Plans: map[string][]httplimit.Limit{}, Forwarding: httplimit.Forwarding(f.Forwarding), Fields: f.Headers,
		Observe: f.Observe, SuccessesOnly: f.SuccessesOnly, ClientNames: f.LogClients,
	}}
	at := func(path ...string) []string { return append([]string{"api"}, path...) }
	for i, origin := range f.Origins {
		if !isOrigin(origin) {
			return a, y.Errorf(at("origins", strconv.Itoa(i)), "origin %q: use one such as https://www.example.com", origin)
		}
	}
	for i, host := range f.Hosts {
		if host == "" || strings.ContainsAny(host, "/:* ") {
			return a, y.Errorf(at("hosts", strconv.Itoa(i)), "host %q: use a name such as api.example.com", host)
		}
	}
	if err := f.limits(&a, y); err != nil {
		return a, err
	}
	if err := f.addresses(&a, y); err != nil {
		return a, err
	}
	if a.Failure.OpenAtMost, err = parsePart(f.Failure.OpenAtMost); err != nil {
		return a, y.Errorf(at("failure", "open_at_most"), "open_at_most: %v", err)
	}
	if a.Failure.Emergency, err = parsePart(f.Failure.Emergency); err != nil {
		return a, y.Errorf(at("failure", "emergency"), "emergency: %v", err)
	}
	for i, r := range f.Routes {
		limits, err := parseLimits(y, r.Limits, at("routes", strconv.Itoa(i), "limits"))
		if err != nil {
			return a, err
		}
		route := httplimit.Route{Name: r.Name, Pattern: r.Match, Limits: limits}
		if r.Cost != nil {
			if route.Cost = *r.Cost; route.Cost < 1 {
				return a, y.Errorf(at("routes", strconv.Itoa(i), "cost"), "cost %d: use 1 or more", route.Cost)
			}
		}
		a.Routes = append(a.Routes, route)
	}
	for i, t := range f.Tokens {
		sum, err := parseSum(t.SHA256)
		if err != nil {
			return a, y.Errorf(at("tokens", strconv.Itoa(i), "sha256"), "sha256 %v", err)
		}
		a.Tokens = append(a.Tokens, httplimit.Token{Client: t.Client, Plan: t.Plan, SHA256: sum, Caller: t.Caller})
	}
	return a, nil
}

// limits reads the limits of clients, of addresses and of all together.
func (f apiFile) limits(a *API, y *strictyaml.Document) (err error) {
	for _, p := range []struct {
		field string
		given map[string]limitFile
		into  *[]httplimit.Limit
	}{{"limits", f.Limits, &a.Limits}, {"outer", f.Outer, &a.Outer}, {"address", f.Address, &a.Addresses}} {
		if *p.into, err = parseLimits(y, p.given, []string{"api", p.field}); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Plans)) {
		if a.Plans[name], err = parseLimits(y, f.Plans[name], []string{"api", "plans", name}); err != nil {
			return err
		}
	}
	return nil
}

func (f apiFile) addresses(a *API, y *strictyaml.Document) error {
	for _, p := range []struct {
		field string
		given []string
		into  *[]netip.Prefix
	}{{"proxies", f.Proxies, &a.Proxies}, {"allow", f.Allow, &a.Allow}, {"deny", f.Deny, &a.Deny},
		{"callers", f.Callers, &a.Callers}} {
		for i, text := range p.given {
			prefix, err := parsePrefix(text)
			if err != nil {
				return y.Errorf([]string{"api", p.field, strconv.Itoa(i)},
					"%q is not an address such as 192.0.2.1, or a range such as 10.0.0.0/8", text)
			}
			*p.into = append(*p.into, prefix)
		}
	}
	return nil
}

// parseLimits returns limits sorted by their windows; nil if the file says nothing.
func parseLimits(y *strictyaml.Document, given map[string]limitFile, at []string) (out []httplimit.Limit, err error) {
	if given == nil {
		return nil, nil
	}
	numbers := map[string]int64{}
	for name, f := range given {
		numbers[name] = f.Limit
	}
	windows, name, err := parseWindows(numbers)
	if err != nil {
		return nil, y.Errorf(append(at, name), "%v", err)
	}
	out = []httplimit.Limit{}
	for _, w := range windows {
		if w.Day() || w.Length%time.Second != 0 {
			return nil, y.Errorf(append(at, w.Name), "window %q: use whole seconds, such as 60s, 1m or 1h", w.Name)
		}
		out = append(out, httplimit.Limit{Quota: w.Limit, Window: w.Length, Observe: given[w.Name].Observe})
	}
	slices.SortFunc(out, func(a, b httplimit.Limit) int { return int(a.Window - b.Window) })
	return out, nil
}

// parseWindows returns windows with their limits, sorted by name; or an error, and the name of the window at fault.
func parseWindows(given map[string]int64) (windows []quota.Window, name string, err error) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		w, err := quota.ParseWindow(name)
		if err != nil {
			return nil, name, err
		}
		if w.Limit = given[name]; w.Limit < 1 || w.Limit > quota.MaxLimit {
			return nil, name, fmt.Errorf("limit %d in %s: use 1..%d", w.Limit, name, int64(quota.MaxLimit))
		}
		windows = append(windows, w)
	}
	return windows, "", nil
}

func parseSum(text string) (sum [32]byte, err error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(sum) {
		return sum, errors.New("is 64 hex digits: printf %s \"$TOKEN\" | sha256sum")
	}
	return [32]byte(b), nil
}

func parsePrefix(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	return netip.ParsePrefix(s)
}

// usualLimit is each client's limit if other machines can reach serve and the config file sets none. A person who types
// stays far below it, and a client that keeps to it does no harm.
var usualLimit = []httplimit.Limit{{Quota: 600, Window: time.Minute}}

// ClientLimits returns the limits of each client without a token.
func (c *Config) ClientLimits() []httplimit.Limit {
	if c.API.Limits == nil && c.Reachable() != "" {
		return usualLimit
	}
	return c.API.Limits
}

// HostNames returns the names that serve answers to, besides localhost and IP addresses: the hosts that the config file
// lists, and the hosts of the addresses that serve listens at.
func (c *Config) HostNames() []string {
	names := slices.Clone(c.API.Hosts)
	for _, address := range []string{c.Listen, c.AdminListen} {
		if host, _, err := net.SplitHostPort(address); err == nil && host != "" {
			names = append(names, host)
		}
	}
	return names
}

// Reachable returns the address where other machines can reach serve; "" if they cannot.
func (c *Config) Reachable() string {
	if host, _, err := net.SplitHostPort(c.Listen); c.Listen == "" || err == nil && wire.IsLoopback(host) {
		return ""
	}
	return c.Listen
}
