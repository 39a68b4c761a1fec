-- Part of take.lua: what the writer of a numbered operation wrote last says whether this was asked before, and whether
-- anything was lost.

if numbered then
	if generation ~= wanted and generation > 0 then
		return redis.error_reply(string.format('GENERATION %.0f', generation))
	elseif generation ~= wanted then
		broken(key, not m and (who or writer or state[3]), 'it has no generation', true)
	end
	local number, mark, _ = 0, 0, nil
	if writer then
		if #writer < WRITER_SIZE then
			broken(key, writer, 'it holds a writer that is none')
		end
		number, mark, _, heard = unpack_(WRITER, writer)
	end
	if number < written then
		broken(key, number, string.format('its writer has written %.0f, here %.0f', written, number), true)
	elseif number > operation or number == operation and mark ~= nonce then
		return redis.error_reply(string.format('CLONE %.0f', number))
	elseif number == operation and #writer == WRITER_SIZE then
		return redis.error_reply(string.format('SYNCED %.0f', number))
	elseif number == operation then
		--: pools
		for i = 1, pools do
			local is, length = whole(KEYS[1 + i], pool(key, m, state[2 + i], clock))
			if not is then
				broken(KEYS[1 + i], length, 'it has ' .. length .. ' entries', true)
			end
		end
		return writer
	end
end
