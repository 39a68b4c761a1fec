package config

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/itchyny/gojq"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/hooks"
	"github.com/trendvidstream/ingest/quota"
)

// hookFile mirrors one of hooks: in the config file.
type hookFile struct {
	Name       string             `yaml:"name"`
	On         []ingest.EventName `yaml:"on"`
	Run        string             `yaml:"run"`
	Post       string             `yaml:"post"`
	PostFile   string             `yaml:"post_file"`
	SecretFile string             `yaml:"secret_file"`
	Body       string             `yaml:"body"`
}

// files returns the fields that name files.
func (h *hookFile) files() map[string]*string {
	return map[string]*string{"run": &h.Run, "post_file": &h.PostFile, "secret_file": &h.SecretFile}
}

// toHook checks a hook as far as that needs no other file and returns, with an error, the field at fault.
func (h hookFile) toHook() (_ hooks.Hook, field string, err error) {
	hook := hooks.Hook{Name: h.Name, On: h.On, Run: h.Run, Secrets: h.secrets}
	known := fmt.Sprintf("use some of %s", strings.Trim(fmt.Sprint(ingest.EventNames), "[]"))
	if len(h.On) == 0 {
		return hook, "on", fmt.Errorf("on: names no event: %s", known)
	}
	for _, name := range h.On {
		if !slices.Contains(ingest.EventNames, name) {
			return hook, "on", fmt.Errorf("on: %q is not an event: %s", name, known)
		}
	}
	ways := 0
	for _, way := range []string{h.Run, h.Post, h.PostFile} {
		if way != "" {
			ways++
		}
	}
	switch {
	case ways != 1:
		return hook, "on", errors.New("a hook has one of run: PROGRAM, post: ADDRESS and post_file: FILE")
	case h.Run != "" && h.SecretFile != "":
		return hook, "secret_file", errors.New("secret_file: only a POST is signed: leave it out beside run:")
	case h.Run != "" && !filepath.IsAbs(h.Run):
		return hook, "run", fmt.Errorf("run: %s: write the whole path of the program", h.Run)
	}
	if h.Post != "" {
		if err := checkPostURL(h.Post); err != nil {
			return hook, "post", fmt.Errorf("post: %w", err)
		}
	}
	if h.Body != "" {
		query, err := gojq.Parse(h.Body)
		if err == nil {
			hook.Body, err = gojq.Compile(query)
		}
		if err != nil {
			return hook, "body", fmt.Errorf("body: is not a jq filter: %w", err)
		}
	}
	if hook.Name == "" {
		hook.Name = h.ownName()
	}
	if err := quota.CheckAccount(hook.Name); err != nil {
		return hook, "name", fmt.Errorf("hook name %q: use 1 to 64 letters, digits, '.', '-' and '_'", hook.Name)
	}
	return hook, "", nil
}

// ownName is the name of a hook without one: of its program, or its address's host.
func (h hookFile) ownName() string {
	if u, err := url.Parse(h.Post); err == nil && u.Host != "" {
		return u.Hostname()
	}
	return filepath.Base(h.Run + h.PostFile)
}

// The secrets of a hook are in files only, without variables: there may be many hooks.
var (
	hookAddress = secret{name: "post", holds: "URL", named: "post_file:", check: checkPostURL, wrap: Invalid}
	hookKey     = secret{name: "secret", holds: "whsec_ secret", named: "secret_file:", wrap: Invalid}
)

// secrets reads a hook's address and the key of its signatures.
func (h hookFile) secrets() (address, key ingest.Secret, err error) {
	if address = ingest.NewSecret(h.Post); h.PostFile != "" {
		address, err = hookAddress.read(h.PostFile)
	}
	if err == nil && h.SecretFile != "" {
		key, err = hookKey.read(h.SecretFile)
	}
	return address, key, err
}

func (c *Config) setHooks(file configFile) error {
	for i, f := range file.Hooks {
		hook, field, err := f.toHook()
		if err == nil && slices.ContainsFunc(c.Hooks, func(other hooks.Hook) bool { return other.Name == hook.Name }) {
			field, err = "name", fmt.Errorf("two hooks are called %q: give each a name:", hook.Name)
		}
		if err != nil && c.lines == nil {
			return err // the file has worse mistakes
		}
		if err != nil {
			return c.lines.Errorf([]string{"hooks", fmt.Sprint(i), field}, "%v", err)
		}
		c.Hooks = append(c.Hooks, hook)
	}
	return nil
}

// CheckHooks returns why a hook cannot receive events now.
func (c *Config) CheckHooks() error {
	for _, h := range c.Hooks {
		if err := h.Check(); err != nil {
			return Invalid(fmt.Errorf("%s: hook %s: %w", c.File, h.Name, err))
		}
	}
	return nil
}

// HookEvents returns which hooks want which events.
func (c *Config) HookEvents() map[string][]ingest.EventName {
	wanted := map[string][]ingest.EventName{}
	for _, h := range c.Hooks {
		wanted[h.Name] = h.On
	}
	return wanted
}
