package pgstore

import (
	"encoding/json"
	"strconv"
	"strings"
)

const (
	longest = 500    // letters kept of a token: a lexeme may have 2,046 bytes
	most    = 10_000 // tokens kept of a video: a tsvector counts positions to 16,383
)

// vectors converts index rows of package store, [[id, title, channel, tags, description], ...] as JSON, to [[id,
// words], ...]. It returns anything else unchanged, for Postgres to refuse.
func vectors(rows string) string {
	var videos [][5]any
	decoder := json.NewDecoder(strings.NewReader(rows))
	decoder.UseNumber()
	if decoder.Decode(&videos) != nil {
		return rows
	}
	written := make([][2]any, len(videos))
	for i, v := range videos {
		var columns [4]string
		for c := range columns {
			columns[c], _ = v[1+c].(string)
		}
		written[i] = [2]any{v[0], vector(columns)}
	}
	text, err := json.Marshal(written)
	if err != nil {
		return rows
	}
	return string(text)
}

// vector returns the text of a tsvector of a video's title, channel's name, tags and description, all from
// text.Normalize, with the weights A to D. It skips a position between columns, so that no phrase crosses them. A
// token in a name begins with a mark: see schema.sql.
func vector(columns [4]string) string {
	type lexeme struct {
		named  bool
		places []byte
	}
	lexemes := map[string]*lexeme{}
	at, tokens := 0, 0
	for c, normal := range columns {
		for token := range strings.FieldsSeq(normal) {
			if tokens++; tokens > most {
				break
			}
			at++
			token = cut(token)
			l := lexemes[token]
			if l == nil {
				l = &lexeme{}
				lexemes[token] = l
			} else {
				l.places = append(l.places, ',')
			}
			l.named = l.named || c < 2
			l.places = append(strconv.AppendInt(l.places, int64(at), 10), "ABCD"[c])
		}
		at++
	}
	var out strings.Builder
	for token, l := range lexemes {
		mark := ""
		if l.named {
			mark = named
		}
		out.WriteString(quoted(mark+token) + ":")
		out.Write(l.places)
		out.WriteByte(' ')
	}
	return out.String()
}

// named is the mark at the beginning of a lexeme in a title or a channel's name. No token has it.
const named = "="

// cut returns the part of a token that is kept.
func cut(token string) string {
	if len(token) <= longest {
		return token
	}
	r := []rune(token)
	return string(r[:min(len(r), longest)])
}

// quoted writes a lexeme as tsvector and tsquery read it.
func quoted(lexeme string) string { return "'" + quotes.Replace(lexeme) + "'" }

var quotes = strings.NewReplacer(`\`, `\\`, `'`, `''`)
