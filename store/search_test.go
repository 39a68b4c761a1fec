package store_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/text"
)

func TestASearchFindsTypedWordsInAnyScript(t *testing.T) {
	titles := map[string]string{
		"de": "Die Straße der Mädchen – Grüße aus Köln",
		"fr": "Forêt enchantée : L'été à Nîmes (Clip officiel)",
		"pt": "Canção do coração | AO VIVO em São Paulo",
		"pl": "Łódź nocą – żółta łódka",
		"da": "Rødgrød med fløde",
		"tr": "İstanbul'da ışık",
		"gr": "Η Ελλάδα ΣΉΜΕΡΑ",
		"ru": "Ёлка и всё такое",
		"hi": "नई हिंदी फ़िल्म का ट्रेलर",
		"ta": "புதிய தமிழ் திரைப்படம்",
		"ja": "東京タワーの猫 ｶﾞｲﾄﾞ",
		"zh": "北京大学生活日常",
		"ko": "고양이 영상 모음",
		"ar": "مُقَدِّمَة المسلسل",
		"he": "שָׁלוֹם עולם",
		"th": "ตัวอย่างภาพยนตร์",
		"em": "Goal!!🔥 What a match ❤️ 👍🏽",
		"wd": "ＦＵＬＬ ｗｉｄｔｈ 𝗯𝗼𝗹𝗱 title",
		"zw": "zero\u200dwidth jo\u200ciner so\u00adft",
		"nm": "AC/DC don't Spider-Man: #shorts (Official™ Video) 2026",
	}
	s, _ := newStore(t)
	var videos []ingest.Video
	for id, title := range titles {
		videos = append(videos, titled(id, title))
	}
	chart(t, s, "US", noon, page(videos...))
	tests := map[string][]string{
		"de": {"straße", "STRASSE", "strasse", "madchen", "Mädchen", "ma\u0308dchen", "gruss*", "koln"},
		"fr": {"forêt", "foret", "enchantee", "ete", "été", "l'été", "nimes", "OFFICIEL"},
		"pt": {"cancao", "coração", "\"ao vivo\"", "são paulo"},
		"pl": {"lodz", "Łódź", "zolta"},
		"da": {"rodgrod", "RØDGRØD", "flode"},
		"tr": {"istanbul", "İSTANBUL", "isik", "ışık"},
		"gr": {"ελλαδα", "σήμερα", "σημερα"},
		"ru": {"елка", "ёлка", "ВСЁ"},
		"hi": {"हिंदी", "फ़िल्म", "फ\u093cिल्म", "ट्रेलर", "हिं*"},
		"ta": {"தமிழ்", "திரைப்படம்", "திரை*"},
		"ja": {"東京", "タワー", "東京タワー", "猫", "京", "ガイド", "タワーの猫 ガイド", "\"猫 ガイド\""},
		"zh": {"北京大学", "大学生", "生活", "常", "京大学生活"},
		"ko": {"고양이", "영상", "양이", "모음", "\"고양이 영상\""},
		"ar": {"مقدمة", "مُقَدِّمَة", "المسلسل"},
		"he": {"שלום", "עולם"},
		"th": {"ตัวอย่างภาพยนตร์", "ตัวอย่าง*", "ภาพยนตร์", "ตัวอย่าง", "ภาพ"},
		"em": {"🔥", "❤", "❤️", "👍", "👍🏿", "goal!!🔥"},
		"wd": {"full", "ｗｉｄｔｈ", "bold", "TITLE"},
		"zw": {"zerowidth", "zero\u200dwidth", "joiner", "soft"},
		"nm": {"AC/DC", "don't", "don’t", "Spider-Man:", "spider man", "#shorts", "(Official", "official™", "2026"},
	}
	for want, queries := range tests {
		for _, q := range queries {
			if got := search(t, s, store.SearchQuery{Text: q}); !slices.Contains(got, want) {
				t.Errorf("%q finds %v, not %s: %s", q, got, want, titles[want])
			}
		}
	}
	for q, not := range map[string]string{"तमिल": "ta", "ハ": "ja", "学京": "zh", "イン": "ja"} {
		if got := search(t, s, store.SearchQuery{Text: q}); slices.Contains(got, not) {
			t.Errorf("%q finds %s: %s", q, not, titles[not])
		}
	}
}

func TestQueriesHaveTheirWrittenMeaning(t *testing.T) {
	s, _ := newStore(t)
	a, b, c := titled("a", "Red blue green"), titled("b", "Blue red"), titled("c", "Yellow bluebird")
	a.Tags, c.Tags = []string{"music video", "live"}, []string{"red"}
	b.Channel, b.ChannelID = "Red Channel", "UCred"
	c.Category, c.Views = "20", count(1000)
	chart(t, s, "US", noon, page(a, b))
	chart(t, s, "GB", noon.Add(time.Hour), page(c))
	tests := []struct {
		query store.SearchQuery
		want  string
	}{
		{store.SearchQuery{Text: "red"}, "a b c"},
		{store.SearchQuery{Text: "red blue"}, "a b c"}, // the last word may go on
		{store.SearchQuery{Text: `"red blue"`}, "a"},
		{store.SearchQuery{Text: `"blue red`}, "a b"}, // a quote left open is none
		{store.SearchQuery{Text: `"blue red" "`}, "b"},
		{store.SearchQuery{Text: "blue*"}, "a b c"},
		{store.SearchQuery{Text: `"yellow bl"*`}, "c"},
		{store.SearchQuery{Text: "red -green"}, "b c"},
		{store.SearchQuery{Text: `red -"blue red" -yellow`}, "a"},
		{store.SearchQuery{Text: "-tag:live red"}, "b c"},
		{store.SearchQuery{Text: "channel:red"}, "b"},
		{store.SearchQuery{Text: "tag:red"}, "c"},
		{store.SearchQuery{Text: `TAG:"music video"`}, "a"},
		{store.SearchQuery{Text: "tag:mus*"}, "a"},
		{store.SearchQuery{Text: "channel:"}, "b"}, // the word
		{store.SearchQuery{Text: "red", Region: "GB"}, "c"},
		{store.SearchQuery{Text: "blue*", Region: "US"}, "a b"},
		{store.SearchQuery{Text: "blue*", Region: "FR"}, ""},
		{store.SearchQuery{Text: "blue*", Category: "20"}, "c"},
		{store.SearchQuery{Text: "blue*", MinViews: 101}, "c"},
		{store.SearchQuery{Text: "blue*", SeenSince: noon.Add(time.Minute)}, "c"},
		{store.SearchQuery{Text: "-red"}, "a b c"}, // nothing else is left: a word
		{store.SearchQuery{Text: ""}, ""},
		{store.SearchQuery{Text: ` * - "" () !!! `}, ""},
	}
	for _, tt := range tests {
		got := search(t, s, tt.query)
		slices.Sort(got)
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%+v finds %v, want %q", tt.query, got, tt.want)
		}
	}
}

func TestAQueryWithoutAWordSaysSo(t *testing.T) {
	s, _ := newStore(t)
	for _, text := range []string{"", " ", "!!!", `""`, "\x00", "- -"} {
		r, err := s.Search(t.Context(), store.SearchQuery{Text: text})
		if err != nil || r.Hint == "" || len(r.Items) != 0 {
			t.Errorf("%q: %+v, %v, want a hint and no videos", text, r, err)
		}
	}
	if r, err := s.Search(t.Context(), store.SearchQuery{Text: "red"}); err != nil || r.Hint != "" {
		t.Errorf("red: %+v, %v, want no hint", r, err)
	}
}

func TestTheTitleWeighsMoreThanTheChannelAndThatMoreThanTags(t *testing.T) {
	s, _ := newStore(t)
	inTitle, inChannel, inTags := titled("1", "lion one two"), titled("2", "zero one two"), titled("3", "zero one two")
	inTitle.Tags, inChannel.Tags, inTags.Tags = []string{"x"}, []string{"x"}, []string{"lion"}
	inChannel.Channel, inChannel.ChannelID = "lion", "UClion"
	filler := make([]ingest.Video, 30) // a word in most rows has no weight
	for i := range filler {
		filler[i] = titled(fmt.Sprint("f", i), "zero one two")
	}
	// Behind the ranks that a newest chart lifts.
	chart(t, s, "US", noon, page(filler...), page(inTags, inChannel, inTitle))
	if got := search(t, s, store.SearchQuery{Text: "lion"}); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("got %v, want [1 2 3]", got)
	}
}

func TestTiesGoByViews(t *testing.T) {
	s, clock := newStore(t)
	var videos []ingest.Video
	for i, views := range []int64{5, 50, 7, 5} {
		videos = append(videos, withViews(titled(fmt.Sprint(i), []string{"Lion cub", "A lion cub that is"}[i%2]), views))
	}
	chart(t, s, "US", noon, page(videos...))
	chart(t, s, "US", clock.move(24*time.Hour), page(videos[0])) // as watched as before, and still charted
	for order, want := range map[store.Order]string{store.ByRelevance: "2 1 0 3", store.ByViews: "1 2 0 3"} {
		if got := search(t, s, store.SearchQuery{Text: "lion", Order: order}); strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", order, got, want)
		}
	}
}

func TestABeginningThatIsNoLongerThereIsNotFound(t *testing.T) {
	s, clock := newStore(t)
	chart(t, s, "US", noon, page(titled("a", "猫 zebra"), titled("b", "猫の家 zoo")))
	for _, q := range []string{"猫", "z*"} {
		if got := search(t, s, store.SearchQuery{Text: q}); len(got) != 2 {
			t.Errorf("before, %s finds %v, want 2 of them", q, got)
		}
	}
	chart(t, s, "US", clock.move(time.Hour), page(titled("a", "犬 yak")))
	for _, q := range []string{"猫", "z*"} {
		if got := search(t, s, store.SearchQuery{Text: q}); !slices.Equal(got, []string{"b"}) {
			t.Errorf("after, %s finds %v, want [b]", q, got)
		}
	}
}

func TestAHitNamesTheRegionsThatChartedIt(t *testing.T) {
	s, clock := newStore(t)
	chart(t, s, "US", noon, page(titled("a", "Findling")))
	chart(t, s, "DE", noon, page(titled("a", "Findling")))
	chart(t, s, "GB", noon, page(titled("b", "Other")))
	chart(t, s, "DE", clock.move(time.Hour), page(titled("b", "Other")))
	r, err := s.Search(t.Context(), store.SearchQuery{Text: "findling"})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Items) != 1 || !slices.Equal(r.Items[0].Regions, []ingest.Region{"DE", "US"}) || r.Items[0].Score == 0 || r.Capped {
		t.Errorf("got %+v", r)
	}
}

// A hit has the values of its video in the chart, whatever the upstream writes into a language.
func TestAHitHasTheValuesOfItsVideo(t *testing.T) {
	s, _ := newStore(t)
	hostile := titled("a", "A title")
	hostile.Language, hostile.Category = "d\x1fe\x00", "\x1f\x1f10"
	chart(t, s, "US", noon, page(hostile))
	want, err := s.FindChart(t.Context(), store.ChartQuery{Region: "US"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Search(t.Context(), store.SearchQuery{Text: "title"})
	if err != nil || len(r.Items) != 1 || !reflect.DeepEqual(r.Items[0].Video, want.Items[0].Video) {
		t.Errorf("got %+v, %v, want %+v", r.Items, err, want.Items[0].Video)
	}
}

func TestTheCapKeepsTheNewestAndSaysSo(t *testing.T) {
	store.SetMaxMatches(t, 10)
	s, _ := newStore(t)
	var videos []ingest.Video
	for i := range 30 {
		v := titled(fmt.Sprintf("v%02d", i), "Common word")
		if i == 3 || i == 25 {
			v.Category = "99"
		}
		videos = append(videos, v)
	}
	chart(t, s, "US", noon, page(videos...))
	for _, order := range allOrders {
		r, err := s.Search(t.Context(), store.SearchQuery{Text: "common", Limit: 30, Order: order})
		if err != nil || len(r.Items) != 10 || !r.Capped {
			t.Fatalf("%q: %d found, capped %v, %v", order, len(r.Items), r.Capped, err)
		}
		for _, h := range r.Items {
			if h.Video.ID < "v20" {
				t.Errorf("%q: found %s, which is not among the newest", order, h.Video.ID)
			}
		}
	}
	r, err := s.Search(t.Context(), store.SearchQuery{Text: "common", Category: "99"})
	if err != nil || len(r.Items) != 1 || r.Items[0].Video.ID != "v25" || !r.Capped {
		t.Errorf("%+v, %v: want v25, capped", r.Items, err)
	}
	store.SetMaxMatches(t, 30)
	if r, err := s.Search(t.Context(), store.SearchQuery{Text: "common", Limit: 50}); err != nil || len(r.Items) != 30 || r.Capped {
		t.Errorf("all are looked at: %d, capped %v, %v", len(r.Items), r.Capped, err)
	}
}

func TestWithTooManyMatchesTitlesComeBeforeTags(t *testing.T) {
	store.SetMaxScored(t, 10)
	s, _ := newStore(t)
	videos := []ingest.Video{withViews(titled("seldom", "Lion"), 1)}
	for i := range 30 {
		v := titled(fmt.Sprintf("v%02d", i), "Other word")
		v.Tags = []string{"lion"}
		videos = append(videos, v)
	}
	chart(t, s, "US", noon, page(videos...))
	r, err := s.Search(t.Context(), store.SearchQuery{Text: "lion", Limit: 40})
	if err != nil || len(r.Items) != 31 || r.Items[0].Video.ID != "seldom" || r.Capped {
		t.Errorf("%d found, capped %v, %v: want the seldom watched first", len(r.Items), r.Capped, err)
	}
}

func TestTheLongestWordOfARealTitleFindsItsVideo(t *testing.T) {
	alone(t)
	s, _ := newStore(t)
	at := time.Date(2026, 2, 11, 0, 0, 0, 0, time.UTC)
	days := map[string]map[string][]ingest.Video{}
	for _, region := range realRegions {
		days[region] = realCharts(t, region)
	}
	for ; at.Day() <= 14; at = at.AddDate(0, 0, 1) {
		for _, region := range realRegions {
			chart(t, s, region, at, page(days[region][at.Format(time.DateOnly)]...))
		}
		for _, region := range realRegions {
			first := days[region][at.Format(time.DateOnly)][0]
			word := ""
			for w := range strings.FieldsSeq(first.Title) {
				if utf8.RuneCountInString(w) > utf8.RuneCountInString(word) {
					word = w
				}
			}
			for _, q := range []store.SearchQuery{{Text: word}, {Text: word, Region: ingest.Region(region)}} {
				if got := search(t, s, q); !slices.Contains(got, first.ID) {
					t.Errorf("%s %s: %+v does not find %s %q in the first %d", at.Format(time.DateOnly), region, q, first.ID, first.Title, len(got))
				}
			}
		}
	}
}

func FuzzNoQueryIsAnError(f *testing.F) {
	for _, q := range []string{
		`red "blue`, `a* OR b`, `NEAR(a b, 2)`, `^a`, `-`, `--`, `-"`, `tag:`, `tag:-x`, `channel:"a" *`, `{title} : x`, `"a" + "b"`,
		`a NOT NOT b`, "\x00", "\xff\xfe", "東", "東京* 都", "👨‍👩‍👧", "(((", `\`, `'`, `;`, "％", "a\u0301\u0301", strings.Repeat("a ", 1000),
		strings.Repeat("東", 1000), strings.Repeat("-a ", 300), `red* -redd*`, `"a re"*`, `tag:re* -channel:r*`, "ตัวอย่าง*", "ＲＥ＊",
	} {
		f.Add(q)
	}
	s, _ := newStore(f)
	chart(f, s, "US", noon, page(titled("a", "red blue 東京都"), titled("b", "tag channel title"), titled("c", "reddish reds redder")))
	f.Fuzz(func(t *testing.T, text string) {
		for _, q := range []store.SearchQuery{
			{Text: text, Limit: 1},
			{Text: text, Region: "US", MinViews: 1, Category: "10", SeenSince: noon, PublishedUntil: noon, Order: store.ByRise},
			{Text: "red " + text, Region: ingest.Region(text), Category: text, Order: store.Order(text)},
		} {
			r, err := s.Search(t.Context(), q)
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			if r.Next != "" {
				q.After = r.Next
				if _, err := s.Search(t.Context(), q); err != nil {
					t.Errorf("%q, second page: %v", text, err)
				}
			}
			if (r.Interpreted == "") != (r.Hint != "") {
				t.Errorf("%q: looked for %q, hint %q", text, r.Interpreted, r.Hint)
			}
			if _, err := s.Search(t.Context(), store.SearchQuery{Text: "red", After: text}); text != "" && !errors.Is(err, store.ErrCursor) {
				t.Errorf("%q as a cursor: %v", text, err)
			}
		}
	})
}

func FuzzATitleIsFoundByItself(f *testing.F) {
	for _, title := range []string{"Red (Official) Video", "東京 tower 2026年", "नई फ़िल्म", "🔥🔥 x🔥y", "ﬃ ½ ㍿ ǅ", "a\u0300\u0301b", "カ\u3099", "ß\u0308"} {
		f.Add(title)
	}
	s, clock := newStore(f)
	f.Fuzz(func(t *testing.T, title string) {
		tokens := len(strings.Fields(text.Normalize(title)))
		if tokens == 0 || tokens > 100 {
			return
		}
		chart(t, s, "US", clock.move(time.Second), page(titled("a", title)))
		for _, q := range []string{`"` + strings.ReplaceAll(title, `"`, " ") + `"`, `"` + strings.ToUpper(strings.ReplaceAll(title, `"`, " ")) + `"`} {
			if got := search(t, s, store.SearchQuery{Text: q}); !slices.Equal(got, []string{"a"}) {
				t.Errorf("%q is not found by %q (%q)", title, q, text.Normalize(title))
			}
		}
	})
}

// A connection prepares a statement on its second use. If that fails, as in a store that broke under it, the search
// ends with an error all the same, on every repeat.
func TestASearchOfAStoreThatBrokeEnds(t *testing.T) {
	s, _ := newStore(t)
	chart(t, s, "US", noon, page(titled("a", "Apfel")))
	if _, err := raw(t, s.Path()).ExecContext(t.Context(), `DROP TABLE video_text`); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	for range 5 {
		go func() {
			_, err := s.Search(t.Context(), store.SearchQuery{Text: "apfel"})
			ended <- err
		}()
		select {
		case err := <-ended:
			if err == nil {
				t.Error("a search without its index: got no error, want one")
			}
		case <-time.After(time.Minute):
			t.Fatal("a search without its index: got no end in a minute, want one")
		}
	}
}

// A query of one word finds titles with that word before much watched titles where a longer word begins with it.
func TestAWholeWordRanksBeforeABeginning(t *testing.T) {
	s, _ := newStore(t)
	watched := map[string]int64{"C++ in an hour": 10, "C# for beginners": 20, "Learn C": 30}
	for i, title := range []string{"Cats", "Cats of the week", "Cars", "A day in Cologne"} {
		watched[title] = 1e9 + int64(i)
	}
	var videos []ingest.Video
	for title, views := range watched {
		v := titled(title, title)
		v.Views = &views
		videos = append(videos, v)
	}
	chart(t, s, "US", noon, page(videos...))
	for _, query := range []string{"C", "c++", "C#"} {
		r, err := s.Search(t.Context(), store.SearchQuery{Text: query})
		if err != nil || len(r.Items) != len(watched) {
			t.Fatalf("%q: %d hits of %d, %v", query, len(r.Items), len(watched), err)
		}
		for i, hit := range r.Items {
			if whole := watched[hit.Video.Title] < 100; whole != (i < 3) || i > 0 && hit.Score > r.Items[i-1].Score {
				t.Errorf("%q: %q is number %d, with score %g", query, hit.Video.Title, i+1, hit.Score)
			}
		}
	}
}
