package youtubesim

// vocabulary is the raw material of a tongue: lists separated by spaces, forms by ; and channels by |.
// Every word in words and forms is shorter than the shortest name.
type vocabulary struct{ code, heads, tails, words, forms, channels string }

var vocabularies = []vocabulary{
	{
		code: "en",
		heads: "Raven Hollow Silver Winter Summer Thunder Copper Maple Willow Cedar Falcon Timber Crystal Shadow " +
			"Golden Storm River Amber Frost Ember Meadow Harbor Canyon Lantern Autumn Velvet Marble Cobalt Hazel " +
			"Juniper Kestrel Sparrow Badger Bramble Granite Orchard Saffron Midnight Northern Western",
		tails: "wood brook field bridge haven ridge gate crest shire stead hurst ville port light song heart march " +
			"wick borough mount cliff glen water ford dale moor creek fall house lake",
		words: "trailer music video game goal recipe story battle secret night dance stream winner speech garden " +
			"rescue puzzle robot island castle train ghost dragon summit",
		forms: "{n} – the full {w} (4K);I spent {k} days in {n}: {w} and {v};{n} | new {w} out now;The {n} {w}, " +
			"part {k};We tried the {n} {w} and lost;{n} vs the world: {w} {k};Why {n} has the best {w} of all;" +
			"{n} ft. DJ {w} [live];Last {w} at {n};{n}: every {w} ranked",
		channels: "{n}|{n} TV|{n} Music|The {n} Show|{n} Games|{n} Films",
	},
	{
		code: "de",
		heads: "Weihnachts Sommer Winter Schloss Kirchen Brücken Garten Fußball Handwerks Küchen Familien Straßen " +
			"Flughafen Bahnhofs Gebirgs Hafen Markt Nachbarschafts Ritter Märchen Geister Wikinger Roboter " +
			"Feuerwehr Museums Schützen Theater Wander Bauern Frühlings",
		tails: "reise geschichte rätsel meister wettbewerb geheimnis zauber rekord werkstatt nacht treffen legende " +
			"prüfung turnier fest duell schatz drama jagd umbau rennen training paradies könig",
		words: "Folge Lied Spiel Tor Rezept Haus Auto Musik Abend Stadt Wald Berg Kuchen Trick Test Film Reise Büro " +
			"Tier Meer",
		forms: "{n} | {w} und {v};{n}, Teil {k}: {w};{k} Stunden {n} – geht das gut?;{n} im Test: {w} oder {v}?;" +
			"{w}, {v} und {n};Ärger um {n}!;Alles über {n} ({w});So geht {n} richtig;{n} (mit {w});{n} – neue " +
			"Folge {k}",
		channels: "{n}|{n} TV|{n} mit Jürgen|{n} Musik|Kanal {n}",
	},
	{
		code: "fr",
		heads: "Beau Mont Chante Haute Belle Grand Fonte Roche Clair Verte Blanche Noire Vieille Basse Longue Douce " +
			"Franche Neuve Pierre Rouge",
		tails: "fontaine feuille rivière vallée chêne colline moulin rivage prairie bruyère source étoile aurore " +
			"forêt jardin lumière falaise tourelle rocher marée",
		words: "chanson soirée match recette voyage secret film défi maison école été forêt nuit garçon fête route " +
			"amour jeu ville mer",
		forms: "{n} : {w} et {v};On a testé {n} pendant {k} jours;{n} – {w} (clip);{w} à {n}, partie {k};Ça se " +
			"passe à {n}…;L’été à {n} ({w} et {v});Où est passé {n} ?;{n} | {w} contre {v};Retour à {n};{n} : " +
			"{w} de l’année",
		channels: "{n}|{n} Musique|Chez {n}|{n} officiel|{n} Jeux",
	},
	{
		code: "pt",
		heads: "Itapi Guara Parana Jagua Piraci Caragua Ubata Ipane Araça Itaqua Mogira Sapuca Tamari Jacare Curiti " +
			"Aripua Botuca Carapi Cajati Pinda",
		tails: "tinga tuba nema guaba ranga mirim guaçu tiba quara cema caba poranga juba rema pava monha ruçu peba " +
			"coara rapuã",
		words: "música jogo gol receita festa viagem história desafio praia show treino amor coração noite carro " +
			"casa verão piada filme dança",
		forms: "{n}: {w} do ano;{k} dias em {n} – não faça isso!;{n} ao vivo: {w};{n} | {w}, parte {k};Fui até {n} " +
			"e deu nisso;{n} x {w}: quem ganha?;Coração de {n} ({w});São João em {n};O segredo de {n};{n}: {w} e " +
			"{v}",
		channels: "{n}|TV {n}|{n} Oficial|Forró {n}|Canal {n}",
	},
	{
		code: "hi",
		heads: "राम कृष्ण शिव हरि देव सूर्य चंद्र विजय राजेंद्र महेंद्र सुरेश गणेश लक्ष्मी सीता गौरी इंद्र धर्म अमर " +
			"जयंत आनंद",
		tails: "प्रसाद नारायण कुमार प्रकाश मोहन शंकर भूषण किशोर वल्लभ गोपाल सागर नाथपुर गंजपुर रामपुर नगरी",
		words: "गाना कहानी खेल फिल्म मेला शादी गाँव बारिश सपना रसोई चाय मैच भजन कविता सड़क नदी दोस्त घर रात प्यार",
		forms: "{n} | {w} और {v};{n} – {w}, भाग {k};{n}: {k} दिन का सफ़र;देखिए {n} – {w} और {v};{n} ने क्या कहा?;" +
			"{w} में {n} – पूरा मैच;{n} | हिंदी {w};आज {w}: {n};माँ और {n} | {w};{n} के साथ {w}",
		channels: "{n}|{n} टीवी|{n} म्यूज़िक|गुरु {n}",
	},
	{
		code: "ta",
		heads: "முருக வேல் தமிழ் செல்வ கார்த்தி அருள் பொன் மணி வெற்றி இளங் கண்ண சுந்தர ராம சிவ கலை அன்பு திரு மதுரை " +
			"சோழ நல்ல",
		tails: "குமார் ராஜன் நாதன் வேலன் மணியன் செல்வன் மூர்த்தி பாண்டியன் நகரம் மாறன் வண்ணன் மொழியன் சேகரன் இனியன் " +
			"சுந்தரம்",
		words: "பாடல் கதை செய்தி சமையல் படம் மழை வீடு காதல் பயணம் கடல் ஊர் இசை தேர் வயல் நட்பு",
		forms: "{n} புதிய {w};{n}: {w} பாகம் {k};{n} வீட்டு {w};இன்று {n} சொன்ன {w};{k} நாள் {n} {w};{n} | தமிழ் " +
			"{w};{w} மற்றும் {n};{n} பாடிய {w} – நேரலை;எங்கள் ஊர் {n};{n} {w} {v}",
		channels: "{n}|{n} டிவி|{n} இசை|அம்மா {n}",
	},
	{
		code:     "ja",
		heads:    "佐藤 鈴木 高橋 田中 伊藤 渡辺 山本 中村 小林 加藤 吉田 山田 松本 井上 木村 清水 山崎 森田 池田 橋本",
		tails:    "健太 美咲 大輔 優子 翔太 陽菜 拓海 結衣 直樹 真由 和也 彩香 悠斗 葵衣 千尋 隼人 桜子 涼介",
		words:    "料理 旅行 ゲーム 音楽 実況 散歩 挑戦 日常 釣り 温泉",
		forms:    "【公式】{n}の{w};{n}の{w}と{v} 第{k}回;{k}日間、{n}の{w}生活;【新曲】{n}の{w} / MV;夏祭り！{n}の{w}に密着;{n}の{w}がすごい",
		channels: "{n}|{n}チャンネル|{n}の部屋",
	},
	{
		code:     "zh",
		heads:    "王 李 张 刘 陈 杨 黄 赵 周 吴 徐 孙 马 朱 胡 林 郭 何 高 罗",
		tails:    "志强 美玲 建国 晓明 雪梅 子轩 雨桐 浩然 欣怡 俊杰 佳怡 梓涵 天宇 诗涵 明哲 若曦 文博 静雯 思远 海燕",
		words:    "厨房 旅行 游戏 音乐 故事 舞蹈 电影 比赛 夜市 茶馆",
		forms:    "{n}的{w}生活;【{w}】{n}的{v}日记 {k};{n}的{w}太好看了;跟着{n}的{w}去{v};新歌 {n}的{w}首播;第{k}集 {n}的{w}时光",
		channels: "{n}|{n}频道|{n}工作室",
	},
	{
		code:     "ko",
		heads:    "김 이 박 최 정 강 조 윤 장 임 한 오 서 신 권 황 안 송 전 홍",
		tails:    "민준 서연 도윤 지우 하준 서현 예준 민서 시우 수빈 지호 하은 주원 채원 현우 유진 준서 지민 우진 다은",
		words:    "노래 요리 여행 게임 일상 무대 직캠 영화 축구 산책",
		forms:    "{n}의 새 {w};[{w}] {n}의 하루 {k};{n}의 {w} 첫 공개;{n}의 {w}와 {v};오늘 {n}의 {w};{n}의 {w} (4K)",
		channels: "{n}|{n} TV|{n}의 방",
	},
	{
		code:  "ar",
		heads: "عبد نور سيف بدر شمس زين جمال كمال صلاح علاء بهاء ضياء عماد حسام فخر نجم تاج سراج شرف محيي",
		tails: "الدين الرحمن الكريم العزيز الرحيم الملك السلام الحميد المجيد الهادي الباسط الوهاب اللطيف الجليل",
		words: "أغنية قصة لعبة فيلم رحلة سوق بيت حفل قهوة سر شعر بحر مطبخ حلم مباراة",
		forms: "{n} | {w} و{v};{n}: {w} – الجزء {k};أجمل {w} مع {n};{k} يوما في بيت {n};شاهد {n} قبل {w};{w} {n} " +
			"(مباشر);لماذا غاب {n}؟;{n} يحكي {w};جديد {n}: {w}",
		channels: "{n}|قناة {n}|{n} تي في|{n} موسيقى",
	},
	{
		code:  "he",
		heads: "גולד רוזנ זילבר וייס גרינ שוורצ בלומ קליינ ליבר הירש אייזנ שטרנ פינקל ברנד לנדס קופר",
		tails: "שטיין ברג פלד באום ווסר צווייג הולץ פילד בלט הויז דורף",
		words: "שיר סיפור משחק סרט מסע שוק בית מסיבה קפה סוד ים מטבח חלום גשם",
		forms: "{n} | {w} ועוד {v};{n}: {w}, פרק {k};{k} ימים עם {n};ה{w} של {n};למה {n} נעלם?;{n} מספר: {w};{w} " +
			"אצל {n} (חי);חדש: {n} – {w}",
		channels: "{n}|הערוץ של {n}|{n} מוזיקה",
	},
}
