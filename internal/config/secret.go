package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/wire"
	"github.com/trendvidstream/ingest/internal/plaintext"
)

// Credential is systemd's name for the key: LoadCredential=youtube-key:FILE.
const Credential = "youtube-key"

const apiKeyEnv = "INGEST_KEY"

// ErrNoKey is the error of a call that needs a key when none is configured.
var ErrNoKey = KeyError{
	errors.New("no API key: give --key-file FILE, set INGEST_KEY_FILE, or try without one: ingest demo")}

// AuditForm is the form that asks for more quota.
const AuditForm = "https://support.google.com/youtube/contact/yt_api_form"

// OneKey says why several keys are refused.
const OneKey = "there is one key, of one project: several projects for one client get all of them suspended; " +
	"ask for more quota with " +
	AuditForm + ", and ingest quota audit-report writes the figures for it"

// secret is a value that is never shown: its name, and its places.
type secret struct {
	name, holds string                  // of its file, and of the file's contents
	credential  string                  // systemd's name for it
	env         string                  // the variable with the value; with _FILE, the one that names its file
	field       string                  // the config's field that names its file
	named       string                  // everything that may name its file
	check       func(text string) error // nil: one word is enough
	wrap        func(error) error
}

var (
	apiKey = secret{
		name: "key", holds: "key", credential: Credential, env: apiKeyEnv, field: "key_file",
		named: "--key-file, INGEST_KEY_FILE and key_file:", check: checkKey,
		wrap: func(err error) error { return KeyError{err} },
	}
	// pingURL is a secret, and never an argument, because all who know the address can silence the switch.
	pingURL = secret{
		name: "ping", holds: "URL", credential: "ping-url", env: "INGEST_PING_URL", field: "ping_file",
		named: "INGEST_PING_URL_FILE and ping_file:", check: checkPingURL, wrap: Invalid,
	}
)

// Key finds the API key. It looks at --key-file, a systemd credential, INGEST_KEY_FILE, INGEST_KEY and the config's
// key_file, in this order. The zero Secret means that there is none. A named key that cannot be used is a KeyError:
// falling through to another key would spend another project's quota.
func (c *Config) Key() (ingest.Secret, error) {
	_, key, err := apiKey.find(c.flags.KeyFile, c.KeyFile)
	return key, err
}

// KeySource says in words where Key looks for the key; "" if nothing names one.
func (c *Config) KeySource() string {
	source, _, _ := apiKey.find(c.flags.KeyFile, c.KeyFile)
	return source
}

// PingURL finds the address of the dead man's switch. It looks at a systemd credential, INGEST_PING_URL_FILE,
// INGEST_PING_URL and the config's ping_file, in this order. The zero Secret means that there is none. A named address
// that cannot be used is an error, since otherwise the silent switch would be noticed too late.
func (c *Config) PingURL() (ingest.Secret, error) {
	_, address, err := pingURL.find("", c.PingFile)
	return address, err
}

// find returns the secret and where it was found. A flag and the config name the files; "" for none.
func (s secret) find(flagFile, configFile string) (source string, _ ingest.Secret, _ error) {
	credential := ""
	if dir := os.Getenv("CREDENTIALS_DIRECTORY"); dir != "" {
		credential = filepath.Join(dir, s.credential)
	}
	var path string
	switch envFile, text := os.Getenv(s.env+"_FILE"), os.Getenv(s.env); {
	case flagFile != "":
		source, path = "--key-file "+flagFile, flagFile
	case credential != "" && FileExists(credential):
		source, path = "the systemd credential "+s.credential, credential
	case envFile != "":
		source, path = s.env+"_FILE "+envFile, envFile
	case text != "":
		key, err := s.parse(s.env, text)
		return s.env + ": other processes of this user can read it, a file is safer", key, err
	case configFile != "":
		source, path = s.field+": "+configFile, configFile
	default:
		return "", ingest.Secret{}, nil
	}
	key, err := s.read(path)
	return source, key, err
}

const mostSecret = 4096 // bytes of a secret's file

// read refuses a file that everybody may read, or that holds more than a secret.
func (s secret) read(path string) (ingest.Secret, error) {
	var info fs.FileInfo
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it waits for no pipe
	if err == nil {
		defer func() { _ = f.Close() }()
		info, err = f.Stat()
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		err = fmt.Errorf("read the %s file: %w", s.name, err)
	case err != nil:
		err = fmt.Errorf("%w: %s name a file, and must not hold the %s",
			MissingFile("read the "+s.name+" file", path, err), s.named, s.holds)
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s file %s is not a file", s.name, path)
	case info.Mode().Perm()&0o007 != 0 && os.PathSeparator == '/':
		err = fmt.Errorf("%s file %s can be read by everybody: chmod 600 %s", s.name, path, path)
	case info.Size() > mostSecret:
		err = fmt.Errorf("%s file %s has %d bytes: it should hold a %s and nothing else", s.name, path, info.Size(), s.holds)
	}
	if err != nil {
		return ingest.Secret{}, s.wrap(err)
	}
	data, err := io.ReadAll(io.LimitReader(f, mostSecret))
	if err != nil {
		return ingest.Secret{}, s.wrap(fmt.Errorf("read the %s file: %w", s.name, err))
	}
	return s.parse(s.name+" file "+path, string(plaintext.Decode(data)))
}

// assignment is the part of a settings line before the value.
var assignment = regexp.MustCompile(`^(?:export\s+)?[A-Za-z_][A-Za-z0-9_]*\s*=\s*`)

// keysIn returns the different texts of Google's form of keys: AIza and 35 more characters.
func keysIn(text string) (keys []string) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !isOfKey(r) }) {
		if len(word) == keyLength && strings.HasPrefix(word, keyBegin) && !slices.Contains(keys, word) {
			keys = append(keys, word)
		}
	}
	return keys
}

const (
	keyBegin  = "AIza"
	keyLength = 39
)

func isOfKey(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
}

// bareKey returns the only key of Google's form in a text; or the text without the characters that copying and files
// of settings put around a key: invisible marks, NAME=, quotes.
func bareKey(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text))
	if keys := keysIn(text); len(keys) == 1 {
		return keys[0]
	}
	text = strings.TrimPrefix(text, assignment.FindString(text))
	for _, quote := range []string{`"`, "'"} {
		if inner, ok := strings.CutPrefix(text, quote); ok && strings.HasSuffix(inner, quote) {
			return strings.TrimSuffix(inner, quote)
		}
	}
	return text
}

// checkKey refuses a text that cannot be an API key, so that it is never sent. It never quotes it.
func checkKey(text string) error {
	upper := strings.ToUpper(text)
	switch {
	case strings.HasPrefix(text, "ya29."), strings.HasPrefix(text, "GOCSPX-"),
		strings.HasSuffix(text, ".apps.googleusercontent.com"):
		return errors.New("holds a part of an OAuth client or login: it should hold an API key")
	case strings.Contains(upper, "API_KEY"), strings.Contains(upper, "YOUR_"):
		return errors.New("holds an example's placeholder: put an API key there")
	case strings.HasPrefix(text, keyBegin) && len(text) != keyLength:
		return fmt.Errorf("holds %d characters, and a key of Google has %d: copy all of it, once", len(text), keyLength)
	case strings.ContainsFunc(text, func(r rune) bool { return !isOfKey(r) }):
		return errors.New("holds characters that no key has: keys have letters, digits, - _ and .")
	}
	return nil
}

// parse trims the newline that editors add, and refuses a text that cannot be such a secret. Its errors never quote the
// text.
func (s secret) parse(where, text string) (ingest.Secret, error) {
	if text = strings.TrimSpace(text); s.env == apiKeyEnv {
		text = bareKey(text)
	}
	var err error
	switch {
	case s.env == apiKeyEnv && text != "" && strings.ContainsRune("{[", rune(text[0])):
		err = errors.New("holds JSON, as of a service account or an OAuth client: it should hold an API key and nothing else")
	case text == "":
		err = fmt.Errorf("is empty: put the %s into it", s.holds)
	case s.env == apiKeyEnv && (looksLikeKeys(text) || len(keysIn(text)) > 1):
		return ingest.Secret{}, Invalid(fmt.Errorf("%s holds several keys: %s", where, OneKey))
	case !isOneWord(text):
		err = fmt.Errorf("holds more than one word, or characters that no %s has", s.holds)
	case s.check != nil:
		err = s.check(text)
	}
	if err != nil {
		return ingest.Secret{}, s.wrap(fmt.Errorf("%s %w", where, err))
	}
	return ingest.NewSecret(text), nil
}

func checkPingURL(text string) error {
	if u, err := url.Parse(text); err == nil && strings.Trim(u.Path, "/") == "" {
		return errNoURL
	}
	return checkPostURL(text)
}

var errNoURL = errors.New("does not hold a URL such as https://hc-ping.com/UUID")

// checkPostURL refuses an address that nothing may be posted to. It never quotes it.
func checkPostURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Host == "":
		return errNoURL
	case u.User != nil, u.Fragment != "":
		return errors.New("holds a URL with a user or a fragment: leave that out")
	case u.Scheme != "https" && (u.Scheme != "http" || !wire.IsLoopback(u.Hostname())):
		return errors.New("holds a URL that is neither https nor on this machine")
	}
	return nil
}

// looksLikeKeys reports whether a text is a list of words that are all as long as a key.
func looksLikeKeys(text string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == ',' || r == ';' })
	for _, w := range words {
		if len(w) < 30 || !isOneWord(w) {
			return false
		}
	}
	return len(words) > 1
}

// isOneWord reports whether a secret is one word of printable ASCII, as keys and URLs are.
func isOneWord(text string) bool {
	return !strings.ContainsFunc(text,
		func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) || r == ' ' })
}

// FileExists reports whether there is something at path.
func FileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
