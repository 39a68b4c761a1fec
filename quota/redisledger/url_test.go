package redisledger_test

import (
	"crypto/tls"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
)

func TestURLs(t *testing.T) {
	type target = redis.UniversalOptions
	encrypted := &tls.Config{MinVersion: tls.VersionTLS12}
	for url, want := range map[string]target{
		"redis://cache":                          {Addrs: []string{"cache:6379"}},
		"redis://127.0.0.1:7000/3":               {Addrs: []string{"127.0.0.1:7000"}, DB: 3},
		"redis://[::1]:7000/":                    {Addrs: []string{"[::1]:7000"}},
		"redis://[::1]":                          {Addrs: []string{"[::1]:6379"}},
		"rediss://u:p%40ss%2F@h:1":               {TLSConfig: encrypted, Addrs: []string{"h:1"}, Username: "u", Password: "p@ss/"},
		"redis://:p@h":                           {Addrs: []string{"h:6379"}, Password: "p"},
		"redis://:p@ss@h":                        {Addrs: []string{"h:6379"}, Password: "p@ss"},
		"redis+cluster://a,b:7001":               {IsClusterMode: true, Addrs: []string{"a:6379", "b:7001"}},
		"rediss+cluster://a/0":                   {IsClusterMode: true, TLSConfig: encrypted, Addrs: []string{"a:6379"}},
		"redis+sentinel://a,b:1/2?master_name=m": {Addrs: []string{"a:26379", "b:1"}, DB: 2, MasterName: "m"},
		"rediss+sentinel://u:p@a?master_name=m":  {TLSConfig: encrypted, Addrs: []string{"a:26379"}, Username: "u", Password: "p", MasterName: "m"},
		"redis+sentinel://a?master_name=m&sentinel_username=s&sentinel_password=x%26": {
			Addrs: []string{"a:26379"}, MasterName: "m", SentinelUsername: "s", SentinelPassword: "x&"},
	} {
		got, err := redisledger.Parse(url)
		if err != nil || !reflect.DeepEqual(got, &want) {
			t.Errorf("%s: got %+v, %v, want %+v", url, got, err, want)
		}
	}
}

func TestRefusesURLsWithoutShowingPasswords(t *testing.T) {
	for url, want := range map[string]string{
		"":                                   "does not begin with",
		"h:6379":                             "does not begin with",
		"http://:tops3cret@h":                "does not begin with",
		"redis+://h":                         "does not begin with",
		"redis:///0":                         "host 1 is not",
		"redis://:tops3cret@":                "host 1 is not",
		"redis://h:0":                        "its port is not a number",
		"redis://h:tops3cret":                "host 1 is not",
		"redis://h:70000":                    "its port is not a number",
		"redis://a:b:c":                      "host 1 is not",
		"redis://a,b":                        "several hosts",
		"redis://h/tops3cret":                "not the number of a database",
		"redis://h/-1":                       "not the number of a database",
		"redis://h?password=tops3cret":       "nothing else has settings",
		"redis://h?tops3cret=1":              "nothing else has settings",
		"redis://:tops3cret%zz@h":            "write %40",
		"redis://:tops3/cret@h":              "%2F for '/'",
		"redis://:tops3?cret@h":              "%3F for '?'",
		"redis://:tops3#cret@h":              "%23 for '#'",
		"redis://tops3cret@h":                "a user without a password",
		"redis://h#tops3cret":                "%23 for '#'",
		"redis://h h":                        "host 1 is not",
		"redis+cluster://h/1":                "a Cluster has only 0",
		"redis+cluster://h,":                 "host 2",
		"redis+cluster://h?master_name=m":    "nothing else has settings",
		"redis+sentinel://h":                 "needs ?master_name",
		"redis+sentinel://h?master_name=":    "needs ?master_name",
		"redis+sentinel://h?master_name=%zz": "percent-encoded",
		"redis+sentinel://h?master_name=a&master_name=b": "once each",
	} {
		_, err := redisledger.Open(t.Context(), url, redisledger.Options{})
		if !errors.Is(err, quota.ErrUnknown) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		} else if strings.Contains(err.Error(), "tops3") {
			t.Errorf("%s: the error shows the password: %v", url, err)
		}
	}
}

// No URL makes Parse panic, or show a possible password.
func FuzzURL(f *testing.F) {
	for _, s := range []string{"redis://u:p@h:1/2", "rediss://[::1]", "redis+sentinel://a,b?master_name=m&sentinel_password=p", "redis+cluster://:p@a,b:1", "redis://:%zz@h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := redisledger.Parse(s)
		if err == nil {
			if len(got.Addrs) == 0 || strings.Contains(s, "+sentinel://") && got.MasterName == "" {
				t.Fatalf("%q: %+v, want addresses, and a master's name from Sentinel", s, got)
			}
			return
		}
		if !errors.Is(err, quota.ErrUnknown) {
			t.Fatalf("%q: %v, want error %v", s, err, quota.ErrUnknown)
		}
		_, rest, _ := strings.Cut(s, "://")
		if i := strings.LastIndexByte(rest, '@'); i > 12 && strings.Contains(err.Error(), rest[:i]) {
			t.Fatalf("%q: the error shows what stands before the '@': %v", s, err)
		}
	})
}
