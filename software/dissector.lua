-- Wireshark dissector for packets, commands and replies of a simulated Nectar.
--
--     wireshark -X lua_script:nectar.lua run.pcapng
--     tshark -X lua_script:nectar.lua -r run.pcapng
--
-- Written by 'nectar dissector'. docs/recording.md, "Packet files", tells the fields.

--@TABLES@

local nectar = Proto("nectar", "Nectar")
local FRAMES = { [FRAME_PACKET] = "packet", [FRAME_COMMAND] = "command", [FRAME_REPLY] = "reply" }

local f = {
  fiber = ProtoField.string("nectar.fiber", "Fiber"),
  kind = ProtoField.uint8("nectar.kind", "Kind of frame", base.DEC, FRAMES),
  missing = ProtoField.uint8("nectar.missing", "Missing bytes", base.DEC),
  -- commands and replies
  opcode = ProtoField.uint8("nectar.opcode", "Opcode", base.HEX, COMMANDS),
  hub = ProtoField.uint8("nectar.hub", "HUB"),
  port = ProtoField.uint8("nectar.port", "Port"),
  param = ProtoField.uint8("nectar.parameter", "Parameter", base.HEX),
  done = ProtoField.bool("nectar.done", "Done"),
  value = ProtoField.uint8("nectar.value", "Value", base.HEX),
  error = ProtoField.uint8("nectar.error", "Error", base.DEC, ERRORS),
  -- packets
  route = ProtoField.string("nectar.route", "Route"),
  hops = ProtoField.uint8("nectar.hops", "HUBs opened in front of the packet"),
  protocol = ProtoField.uint8("nectar.protocol", "Protocol", base.DEC, PROTOCOLS),
  source = ProtoField.uint8("nectar.source", "Source CAB"),
  destination = ProtoField.uint8("nectar.destination", "Destination CAB"),
  flags = ProtoField.uint8("nectar.flags", "Flags", base.HEX),
  ask = ProtoField.bool("nectar.ask", "To be answered"),
  last = ProtoField.bool("nectar.last", "Last fragment"),
  packet_kind = ProtoField.uint8("nectar.packet_kind", "Kind of packet", base.DEC, PACKET_KINDS),
  channel_kind = ProtoField.uint8("nectar.channel_kind", "Kind of packet", base.DEC, CHANNEL_KINDS),
  mailbox = ProtoField.uint16("nectar.mailbox", "Mailbox"),
  service = ProtoField.uint16("nectar.service", "Service"),
  number = ProtoField.uint16("nectar.number", "Number"),
  length = ProtoField.uint32("nectar.length", "Bytes of the message"),
  offset = ProtoField.uint32("nectar.offset", "Offset of the fragment"),
  connection = ProtoField.uint16("nectar.connection", "Connection"),
  window = ProtoField.uint32("nectar.window", "Window in bytes"),
  seq = ProtoField.uint32("nectar.seq", "Sequence number"),
  ack = ProtoField.uint32("nectar.ack", "Acknowledgment"),
  listener = ProtoField.uint32("nectar.listener", "Port of the listener"),
  refusal = ProtoField.uint16("nectar.refusal", "Why it is reset", base.DEC, REFUSALS),
  boot_client = ProtoField.uint16("nectar.boot_sender", "Boot number of client or sender"),
  boot_server = ProtoField.uint16("nectar.boot_receiver", "Boot number of the other side, or group"),
  fragment = ProtoField.uint8("nectar.fragment", "Fragment"),
  word = ProtoField.uint32("nectar.word", "Word", base.HEX),
  reason = ProtoField.uint32("nectar.reason", "Reason", base.DEC, REASONS),
  place_hub = ProtoField.uint8("nectar.presence.hub", "Hangs on HUB"),
  place_port = ProtoField.uint8("nectar.presence.port", "Hangs on port"),
  credit = ProtoField.uint8("nectar.credit", "Credit in messages"),
  session = ProtoField.uint8("nectar.session", "Session of the sender"),
  ack_session = ProtoField.uint8("nectar.ack_session", "Session of the acknowledgment"),
  task = ProtoField.uint16("nectar.task", "Receiving task"),
  from_task = ProtoField.uint16("nectar.from_task", "Sending task"),
  type = ProtoField.uint32("nectar.type", "Type"),
  transfer = ProtoField.uint32("nectar.transfer", "Transfer"),
  data = ProtoField.bytes("nectar.data", "Data"),
  crc = ProtoField.uint32("nectar.crc", "CRC-32", base.HEX),
  stream = ProtoField.uint32("nectar.stream", "Stream"),
}
local flag = {}
for bit, name in pairs(STREAM_FLAGS) do
  flag[bit] = ProtoField.bool("nectar.flag." .. string.lower(name), name)
  f["flag_" .. name] = flag[bit]
end
nectar.fields = f

local wrong_crc = ProtoExpert.new("nectar.wrong_crc", "Wrong CRC", expert.group.CHECKSUM, expert.severity.ERROR)
local cut_short = ProtoExpert.new("nectar.cut_short", "Cut short", expert.group.MALFORMED, expert.severity.WARN)
local refused = ProtoExpert.new("nectar.refused", "The HUB has refused", expert.group.RESPONSE_CODE, expert.severity.NOTE)
nectar.experts = { wrong_crc, cut_short, refused }

local interface_of, fiber_of = Field.new("frame.interface_id"), Field.new("frame.interface_name")

-- What is known from the frames before: forgotten when a file is loaded.
local opened, routes, streams, stream_of, count
function nectar.init()
  opened, routes, streams, stream_of, count = {}, {}, {}, {}, 0
end

local function port_of(opcode, param)
  if FORCED[opcode] then return bit.band(param, 0x7F) end
  if TO_PORT[opcode] then return param end
end

local function command_text(opcode, hub, param)
  local name = COMMANDS[opcode] or string.format("unknown command 0x%02X", opcode)
  local where = hub == 255 and "any HUB" or string.format("HUB %d", hub)
  local port = port_of(opcode, param)
  if port then return string.format("%s %s P%d", name, where, port) end
  return string.format("%s %s", name, where)
end

local function command(tvb, pinfo, tree, is_reply)
  local opcode = tvb(2, 1):uint()
  tree:add(f.opcode, tvb(2, 1))
  local hub = tvb:len() > 3 and tvb(3, 1):uint() or nil
  if hub then tree:add(f.hub, tvb(3, 1)) end
  local last = tvb:len() > 4 and tvb(4, 1):uint() or nil
  local text = COMMANDS[opcode] or string.format("unknown 0x%02X", opcode)
  if tvb(1, 1):uint() > 0 then
    text = text .. ", cut short"
    tree:add_proto_expert_info(cut_short)
  elseif not is_reply then
    local port = port_of(opcode, last)
    tree:add(f.param, tvb(4, 1))
    if port then tree:add(f.port, tvb(4, 1), port) end
    text = command_text(opcode, hub, last)
  elseif HELLOS[opcode] then
    text = string.format("%s from ID %d", HELLOS[opcode], hub)
    tree:add(f.value, tvb(4, 1))
  else
    local done = opcode % 2 == 1
    local name = COMMANDS[done and opcode or opcode + 1] or text
    tree:add(f.done, tvb(2, 1), done)
    if done then
      tree:add(f.value, tvb(4, 1))
      text = string.format("HUB %d has done %s: 0x%02X", hub, name, last)
    else
      tree:add(f.error, tvb(4, 1))
      tree:add_proto_expert_info(refused)
      text = string.format("HUB %d has refused %s: %s", hub, name, ERRORS[last] or last)
    end
  end
  pinfo.cols.info = text
  tree:append_text(": " .. text)
  if not is_reply and not pinfo.visited then
    local interface = interface_of()
    local here = interface and interface.value or 0
    if OPENS[opcode] and hub and last then
      opened[here] = opened[here] or {}
      table.insert(opened[here], string.format("HUB%d.P%d", hub, last))
    elseif CLOSES[opcode] then
      opened[here] = {}
    end
  end
end

local function stream(pinfo, tree, key)
  if not pinfo.visited then
    if streams[key] == nil then
      streams[key] = count
      count = count + 1
    end
    stream_of[pinfo.number] = streams[key]
  end
  if stream_of[pinfo.number] then tree:add(f.stream, stream_of[pinfo.number]):set_generated() end
end

local function pair(a, b)
  return a < b and string.format("%d %d", a, b) or string.format("%d %d", b, a)
end

local dissect = {}
local ip = Dissector.get("ip")

dissect[PROTOCOL_DATAGRAM] = function(tvb, pinfo, tree, source, destination)
  tree:add(f.last, tvb(3, 1), bit.band(tvb(3, 1):uint(), LAST_FRAGMENT) ~= 0)
  tree:add(f.mailbox, tvb(4, 2))
  tree:add(f.number, tvb(6, 2))
  tree:add(f.length, tvb(8, 4))
  tree:add(f.offset, tvb(12, 4))
  stream(pinfo, tree, string.format("d %d %d %d", source, destination, tvb(4, 2):uint()))
  local first, bytes = tvb(12, 4):uint(), tvb:len() - 20
  return string.format("mailbox %d, message %d, bytes %d to %d of %d", tvb(4, 2):uint(), tvb(6, 2):uint(), first,
    first + bytes, tvb(8, 4):uint())
end

dissect[PROTOCOL_STREAM] = function(tvb, pinfo, tree, source, destination)
  local flags, names = tvb(3, 1):uint(), {}
  for value = 0, 7 do
    local one = bit.lshift(1, value)
    if flag[one] then
      tree:add(flag[one], tvb(3, 1), bit.band(flags, one) ~= 0)
      if bit.band(flags, one) ~= 0 and one ~= FLAG_OPENER then table.insert(names, STREAM_FLAGS[one]) end
    end
  end
  local connection = tvb(4, 2):uint()
  tree:add(f.connection, tvb(4, 2))
  if bit.band(flags, FLAG_RESET) ~= 0 then
    tree:add(f.refusal, tvb(6, 2))
  else
    tree:add(f.window, tvb(6, 2), tvb(6, 2):uint() * WINDOW_UNIT)
  end
  tree:add(f.seq, tvb(8, 4))
  if bit.band(flags, FLAG_OPEN) ~= 0 and bit.band(flags, FLAG_ACK) == 0 then
    tree:add(f.listener, tvb(12, 4))
  else
    tree:add(f.ack, tvb(12, 4))
  end
  local opener = bit.band(flags, FLAG_OPENER) ~= 0
  local key = opener and { source, destination } or { destination, source }
  stream(pinfo, tree, string.format("s %d %d %d", key[1], key[2], connection))
  return string.format("connection %d [%s] seq %d, %d bytes", connection, table.concat(names, " "),
    tvb(8, 4):uint(), tvb:len() - 20)
end

local function exchange(tvb, pinfo, tree, source, destination)
  local protocol, kind = tvb(0, 1):uint(), bit.band(tvb(3, 1):uint(), 0x7F)
  tree:add(f.packet_kind, tvb(3, 1), kind)
  tree:add(f.ask, tvb(3, 1), bit.band(tvb(3, 1):uint(), ASK) ~= 0)
  tree:add(protocol == PROTOCOL_REQUEST and f.service or f.mailbox, tvb(4, 2))
  tree:add(f.number, tvb(6, 2))
  tree:add(f.boot_client, tvb(8, 2))
  tree:add(f.boot_server, tvb(10, 2))
  local text = string.format("%s %d of %s %d", PACKET_KINDS[kind] or kind, tvb(6, 2):uint(),
    protocol == PROTOCOL_REQUEST and "service" or "mailbox", tvb(4, 2):uint())
  if kind == KIND_REQUEST or kind == KIND_ANSWER then
    tree:add(f.fragment, tvb(12, 1))
    tree:add(f.length, tvb(13, 3))
    text = text .. string.format(", fragment %d, %d bytes in all", tvb(12, 1):uint(), tvb(13, 3):uint())
  elseif kind == KIND_REFUSED then
    tree:add(f.reason, tvb(12, 4))
    text = text .. ": " .. (REASONS[tvb(12, 4):uint()] or "")
  else
    tree:add(f.word, tvb(12, 4))
  end
  if protocol == PROTOCOL_REQUEST then
    local to_server = kind == KIND_REQUEST or kind == KIND_ACK or kind == KIND_CANCEL or kind == KIND_LACKS
    local client, server = to_server and source or destination, to_server and destination or source
    stream(pinfo, tree, string.format("r %d %d %d", client, server, tvb(6, 2):uint()))
  else
    local sender = (kind == KIND_REQUEST or kind == KIND_JOIN) and source or destination
    stream(pinfo, tree, string.format("m %d %d", sender, tvb(6, 2):uint()))
  end
  return text
end
dissect[PROTOCOL_REQUEST] = exchange
dissect[PROTOCOL_MULTICAST] = exchange

dissect[PROTOCOL_PRESENCE] = function(tvb, pinfo, tree, source)
  tree:add(f.place_hub, tvb(4, 1))
  tree:add(f.place_port, tvb(5, 1))
  return string.format("CAB %d hangs on HUB%d.P%d", source, tvb(4, 1):uint(), tvb(5, 1):uint())
end

dissect[PROTOCOL_CHANNEL] = function(tvb, pinfo, tree, source, destination)
  local kind = bit.band(tvb(3, 1):uint(), 0x7F)
  tree:add(f.channel_kind, tvb(3, 1), kind)
  tree:add(f.ask, tvb(3, 1), bit.band(tvb(3, 1):uint(), ASK) ~= 0)
  tree:add(f.seq, tvb(4, 2), tvb(4, 2):uint())
  tree:add(f.ack, tvb(6, 2), tvb(6, 2):uint())
  tree:add(f.boot_client, tvb(8, 2))
  tree:add(f.boot_server, tvb(10, 2))
  tree:add(f.credit, tvb(12, 1))
  tree:add(f.session, tvb(13, 1))
  tree:add(f.ack_session, tvb(14, 1))
  local text = string.format("%s %d, credit %d", CHANNEL_KINDS[kind] or kind, tvb(4, 2):uint(), tvb(12, 1):uint())
  if kind == CHANNEL_MESSAGE and tvb:len() >= 36 then
    tree:add(f.task, tvb(16, 2))
    tree:add(f.from_task, tvb(18, 2))
    tree:add(f.type, tvb(20, 4))
    tree:add(f.length, tvb(24, 4))
    tree:add(f.transfer, tvb(28, 4))
    text = string.format("message %d from task %d to task %d, type %d, %d bytes", tvb(4, 2):uint(),
      tvb(18, 2):uint(), tvb(16, 2):uint(), tvb(20, 4):uint(), tvb(24, 4):uint())
  end
  stream(pinfo, tree, "c " .. pair(source, destination))
  return text
end

dissect[PROTOCOL_IP] = function(tvb, pinfo, tree)
  local bytes = tvb(8, 4):uint()
  tree:add(f.number, tvb(6, 2))
  tree:add(f.length, tvb(8, 4))
  if bytes < 20 or HEADER_BYTES + bytes > tvb:len() then return string.format("%d bytes", bytes) end
  local inner = tvb(HEADER_BYTES, bytes):tvb()
  ip:call(inner, pinfo, tree)
  return string.format("%s to %s, %d bytes", tostring(inner(12, 4):ipv4()), tostring(inner(16, 4):ipv4()), bytes)
end

local function packet(tvb, pinfo, tree)
  local interface = interface_of()
  local here = interface and interface.value or 0
  if not pinfo.visited then
    routes[pinfo.number] = opened[here]
    opened[here] = {}
  end
  local route = routes[pinfo.number]
  if route and #route > 0 then
    tree:add(f.route, table.concat(route, " ")):set_generated()
    tree:add(f.hops, #route):set_generated()
  end
  local body = tvb(2):tvb()
  if body:len() < HEADER_BYTES + CRC_BYTES then
    pinfo.cols.info = string.format("%d bytes, too few for a header", body:len())
    tree:add_proto_expert_info(cut_short)
    if body:len() > 0 then tree:add(f.data, body()) end
    return
  end
  local protocol, source, destination = body(0, 1):uint(), body(1, 1):uint(), body(2, 1):uint()
  tree:add(f.protocol, body(0, 1))
  tree:add(f.source, body(1, 1))
  tree:add(f.destination, body(2, 1))
  tree:add(f.flags, body(3, 1))
  local name = PROTOCOLS[protocol] or string.format("protocol %d", protocol)
  local receiver = destination == ANY_CAB and "several" or destination
  local text = string.format("%s %s > %s", name, source, receiver)
  if dissect[protocol] then text = text .. ": " .. dissect[protocol](body, pinfo, tree, source, destination) end
  local bytes = body:len() - HEADER_BYTES - CRC_BYTES
  if bytes > 0 then tree:add(f.data, body(HEADER_BYTES, bytes)) end
  tree:add(f.crc, body(body:len() - CRC_BYTES, CRC_BYTES))
  pinfo.cols.info = text
  tree:append_text(": " .. text)
end

function nectar.dissector(tvb, pinfo, root)
  pinfo.cols.protocol = "Nectar"
  if tvb:len() < 3 and not (tvb:len() == 2 and tvb(0, 1):uint() == FRAME_PACKET) then return 0 end
  local tree = root:add(nectar, tvb())
  local kind = tvb(0, 1):uint()
  local fiber = fiber_of()
  if fiber then
    local sender, receiver = string.match(fiber.value, "(.*)>(.*)")
    tree:add(f.fiber, fiber.value):set_generated()
    if sender then
      pinfo.cols.src = sender
      pinfo.cols.dst = receiver
    end
  end
  tree:add(f.kind, tvb(0, 1))
  tree:add(f.missing, tvb(1, 1))
  if kind == FRAME_PACKET then
    packet(tvb, pinfo, tree)
  else
    command(tvb, pinfo, tree, kind == FRAME_REPLY)
  end
  return tvb:len()
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, nectar)
