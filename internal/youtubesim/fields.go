package youtubesim

import (
	"fmt"
	"strings"
)

// tree is a set of fields: nil selects everything below, "*" selects every field of its level.
type tree map[string]tree

// parseMask reads a partial-response mask, "kind,items(id,snippet/title)", and refuses a field missing from shape. A
// nil shape allows every field. (https://developers.google.com/youtube/v3/getting-started#fields)
func parseMask(s string, shape tree) (*tree, error) {
	p := maskParser{rest: s}
	t, err := p.set()
	if err == nil && p.rest != "" {
		err = fmt.Errorf("%q: unexpected %q", s, p.rest)
	}
	if err == nil && shape != nil {
		err = t.within(shape, "")
	}
	if err != nil {
		return nil, err
	}
	return &t, nil
}

type maskParser struct{ rest string }

// set reads "a,b/c,d(e)" up to the end or a closing parenthesis.
func (p *maskParser) set() (tree, error) {
	t := tree{}
	for {
		if err := p.path(t); err != nil {
			return nil, err
		}
		if !strings.HasPrefix(p.rest, ",") {
			return t, nil
		}
		p.rest = p.rest[1:]
	}
}

// path reads one "a/b(c,d)" into t.
func (p *maskParser) path(t tree) error {
	n := strings.IndexAny(p.rest, ",()/")
	if n < 0 {
		n = len(p.rest)
	}
	name := p.rest[:n]
	if name == "" {
		return fmt.Errorf("%q: a field name is missing", p.rest)
	}
	p.rest = p.rest[n:]
	sub := tree(nil)
	switch {
	case strings.HasPrefix(p.rest, "/"):
		p.rest = p.rest[1:]
		sub = tree{}
		if err := p.path(sub); err != nil {
			return err
		}
	case strings.HasPrefix(p.rest, "("):
		p.rest = p.rest[1:]
		var err error
		if sub, err = p.set(); err != nil {
			return err
		}
		if !strings.HasPrefix(p.rest, ")") {
			return fmt.Errorf("%s: a closing parenthesis is missing", name)
		}
		p.rest = p.rest[1:]
	}
	t.add(name, sub)
	return nil
}

// add selects name as well; a field selected as a whole stays selected as a whole.
func (t tree) add(name string, sub tree) {
	old, seen := t[name]
	switch {
	case !seen:
		t[name] = sub
	case old == nil || sub == nil:
		t[name] = nil
	default:
		for k, v := range sub {
			old.add(k, v)
		}
	}
}

// within refuses the first field that shape does not have.
func (t tree) within(shape tree, at string) error {
	for name, sub := range t {
		if name == "*" {
			for _, s := range shape {
				if sub != nil && s != nil {
					if err := sub.within(s, at+"*/"); err != nil {
						return err
					}
				}
			}
			continue
		}
		s, ok := shape[name]
		if !ok || (s == nil && sub != nil) {
			return fmt.Errorf("%s%s", at, name)
		}
		if sub != nil {
			if err := sub.within(s, at+name+"/"); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply copies the fields that the tree selects. The mask of a list applies to its elements.
func (t tree) apply(v any) any {
	if t == nil {
		return v
	}
	switch v := v.(type) {
	case object:
		out := object{}
		for k, e := range v {
			sub, ok := t[k]
			if !ok {
				if sub, ok = t["*"]; !ok {
					continue
				}
			}
			out[k] = sub.apply(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = t.apply(e)
		}
		return out
	}
	return v
}
