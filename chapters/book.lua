-- book.lua -- what a page needs on its way from Markdown to the book
--
-- Links between pages become links between HTML files; links to sources and
-- folders lead to their pages in source/, which are listed for bind.sh; a test
-- that is named leads to its proof.  An excerpt and the link to its origin
-- become one box; tables scroll; figures get numbers, captions, the name of the
-- machine, and what was measured on the reader's below.  A formula keeps its
-- number, which MathML has no place for, and the punctuation after it; long
-- names may break after an underscore.
--
-- A mark `<!-- live: lisa -->` is where a live figure stands, if the book has those.
--
-- Metadata: page, its Markdown; folder, where the book is made; live, whether figures run.  Reads
-- folder/chapters/tests ("TEST SUITE"); appends to these files in
-- folder/chapters: sources, the paths that the page points to; claimed,
-- "TEST <tab> PAGE <tab> TITLE"; found, what a search can find.

local page, leaf, folder, title
local suites, seen = {}, {}
local sources, claimed, found
local listed, figures = {}, 0
local live, lives = false, false

local function normal(path)
    local parts = {}
    for part in path:gmatch('[^/]+') do
        if part == '..' then table.remove(parts)
        elseif part ~= '.' then table.insert(parts, part) end
    end
    return table.concat(parts, '/')
end

-- Is it a file of text?  The first kilobyte of one holds no zero.
local function readable(path)
    local file = io.open(path, 'rb')
    local start = file and file:read(1024)
    if file then file:close() end
    return start and not start:find('\0')
end

local function is_folder(path)
    local file = io.open(path, 'rb')
    local _, _, code = (file or io.stdout):read(0)
    if file then file:close() end
    return file and code == 21
end

local function resolve(target)
    if target:match('^%a+:') or target:match('^#') then return target end
    local path, fragment = target:match('^([^#]*)(.*)$')
    path = normal((page:match('^(.*/)') or '') .. path)
    if path == 'book.md' then return 'index.html' .. fragment end
    if path:match('^chapters/[^/]+%.md$') then
        return path:match('([^/]+)%.md$') .. '.html' .. fragment
    end
    if path:match('^figures/.*%.svg$') then return path:gsub('^figures', 'ours') end
    if (path:match('^tests/test_[a-z_]+%.c$') or path:match('^tests/exact/test_[a-z_]+%.cc$')) and fragment == '' then
        return path:match('([^/]+)%.cc?$') .. '.html'
    end
    if path == 'tests' then return 'proofs.html' end
    if is_folder(path) then path = path .. '/index'
    elseif not readable(path) then return target end
    if not listed[path] then
        listed[path] = true
        sources:write(path, '\n')
    end
    return 'source/' .. path .. '.html' .. fragment:gsub('^#L', '#L-')
end

-- ---- figures

local function text_of(path)
    local file = io.open(path, 'rb')
    local text = file and file:read('a')
    if file then file:close() end
    return text
end

local function html(text)
    return (text:gsub('[&<>"]', { ['&'] = '&amp;', ['<'] = '&lt;', ['>'] = '&gt;', ['"'] = '&quot;' }))
end

-- Machine and day at the head of the table that a figure is drawn from: the one that has most of
-- its name.  A drawing of times and peaks names its day; one without was counted, or drawn by hand, and
-- is the same on every machine.
local function origin(place, name)
    local drawing, from, data = text_of(place .. name .. '.svg'), name, nil
    repeat
        data = text_of(place .. from .. '.tsv')
        from = from:match('^(.*)%-')
    until data or not from
    if not data or not drawing then return nil end
    local machine, day = data:match('# machine: ([^\n]*)'), data:match('# measured: ([%d-]*)')
    return machine and day and drawing:find(day, 1, true) and html(machine .. ', ' .. day) or nil
end

local function picture(path, words)
    return ('<a href="%s"><img src="%s" alt="%s"></a>'):format(path, path, words)
end

local function figure(image)
    local name = image.src:match('([^/]*)%.svg$')
    local words = html(pandoc.utils.stringify(image.caption))
    local chapter = leaf:match('^(%d+)%-')
    figures = figures + 1
    local number = (chapter and chapter .. '.' or '') .. figures
    local ours, yours = origin('figures/', name), origin(folder .. '/figures/', name)
    local drawn = text_of(folder .. '/figures/' .. name .. '.svg')
    local out = ('<figure id="figure-%s">%s<figcaption><b>Figure %s.</b> %s%s%s</figcaption>'):format(
        number:gsub('%.', '-'), picture('ours/' .. name .. '.svg', words), number, words, words:match('[.!?]$') and '' or '.',
        ours and ' <span class="machine">Our machine: ' .. ours .. '.</span>' or '')
    if drawn and drawn ~= text_of('figures/' .. name .. '.svg') then
        out = out .. '<details class="yours" open><summary>Your machine' .. (yours and ': ' .. yours or '') .. '</summary>' ..
            picture('figures/' .. name .. '.svg', words .. ' (your machine)') .. '</details>'
    end
    return pandoc.RawBlock('html', out .. '</figure>')
end

-- ---- claims

local function quoted(text)
    return '"' .. text:gsub('%c', ' '):gsub('[\\"]', '\\%0'):gsub('</', '<\\/') .. '"'
end

local function findable(text, target, where)
    found:write('[', quoted(text), ', ', quoted(target), ', ', quoted(where), '],\n')
end

local function breakable(code)
    return pandoc.RawInline('html', '<code>' .. html(code.text):gsub('_', '_<wbr>') .. '</code>')
end

local function long_name(code)
    return #code.text >= 16 and code.text:find('_') and breakable(code) or code
end

local function proof(code, anchor)
    local suite = suites[code.text]
    if not suite then return long_name(code) end
    return pandoc.Link({ breakable(code) }, suite .. '.html#' .. code.text, '', { id = anchor or '' })
end

-- The first row that names a test is where its proof leads back to.
local function claims(block)
    local simple = pandoc.utils.to_simple_table(block)
    local claim = 0
    for i, head in ipairs(simple.headers) do
        local text = pandoc.utils.stringify(head)
        if text == 'Claim' or text == 'As printed' or text == 'statement' then claim = i end
    end
    for _, row in ipairs(simple.rows) do
        local target
        for i, cell in ipairs(row) do
            row[i] = pandoc.walk_block(pandoc.Div(cell), { Code = function(code)
                if not suites[code.text] or leaf == 'index.html' then return proof(code) end
                local first = not seen[code.text]
                seen[code.text] = true
                target = target or leaf .. '#claim-' .. code.text
                if first then claimed:write(code.text, '\t', leaf, '\t', title, '\n') end
                return proof(code, first and 'claim-' .. code.text)
            end }).content
        end
        if target and claim > 0 and leaf ~= 'index.html' then
            findable(pandoc.utils.stringify(row[claim]), target, title)
        end
    end
    local last = pandoc.utils.stringify(simple.headers[#simple.headers] or {})
    return pandoc.utils.from_simple_table(simple), claim == 1 and 'table claims'
        or last == 'by' and 'table stated' or (claim > 0 or last == 'Test') and 'table told' or 'table'
end

-- ---- blocks

local function sole(block, kind)
    return block and (block.t == 'Para' or block.t == 'Plain') and #block.content == 1
        and block.content[1].t == kind
end

local function boxes(blocks)
    local out = pandoc.List()
    for _, block in ipairs(blocks) do
        local last = out[#out]
        local scene = block.t == 'RawBlock' and block.text:match('^<!%-%- live: (%a+) %-%->')
        if scene and live then
            lives = true
            out:insert(pandoc.RawBlock('html', ('<figure class="live" data-scene="%s" hidden></figure>'):format(scene)))
        elseif block.t == 'RawBlock' and block.text:match('^<!%-%-') then
            -- weaving marks stay behind
        elseif sole(block, 'Link') and last and last.t == 'CodeBlock' then
            out[#out] = pandoc.Div({ last, block }, { class = 'excerpt' })
        elseif block.t == 'Table' then
            local rows, class = claims(block)
            out:insert(pandoc.Div(rows, { class = class, tabindex = '0' }))
        elseif sole(block, 'Image') then
            out:insert(figure(block.content[1]))
        elseif sole(block, 'Emph') and pandoc.utils.stringify(block):match('^On %a+ machine: ') then
            out:insert(pandoc.Div(block, { class = 'machine' }))
        else
            out:insert(block)
        end
    end
    return out
end

-- Pandoc knows \bigl and \Big, not \Bigl, and drops \tag.  The size that it
-- gives to brackets has no unit; bind.sh adds one.
local function formula(math)
    local text, number = math.text:gsub('\\(Bigg?)[lr]', '\\%1'), nil
    text = text:gsub('\\tag(%b{})', function(tag) number = tag:sub(2, -2) return '' end)
    math.text = text
    if math.mathtype == 'InlineMath' then return math end
    local line = pandoc.List { math }
    if number then line:insert(pandoc.Span('(' .. number .. ')', { class = 'number' })) end
    return pandoc.Span(line, { class = 'equation' })
end

local function glued(inlines)
    local out = pandoc.List()
    for _, inline in ipairs(inlines) do
        local last = out[#out]
        if inline.t == 'Str' and inline.text:match('^[.,;:!?)]') and last and last.t == 'Math'
            and last.mathtype == 'InlineMath' then
            out[#out] = pandoc.Span({ last, inline }, { class = 'glued' })
        else
            out:insert(inline)
        end
    end
    return out
end

-- Names in headings and links lead nowhere else.
local function unlinked(element)
    return (element.t == 'Header' and pandoc.walk_block or pandoc.walk_inline)(element, { Code = long_name })
end

function Pandoc(document)
    page = pandoc.utils.stringify(document.meta.page)
    folder = pandoc.utils.stringify(document.meta.folder)
    live = document.meta.live ~= nil
    leaf = page == 'book.md' and 'index.html' or page:match('([^/]*)%.%a+$') .. '.html'
    for name, suite in (text_of(folder .. '/chapters/tests') or ''):gmatch('(%S+) (%S+)\n') do suites[name] = suite end
    sources = assert(io.open(folder .. '/chapters/sources', 'a'))
    claimed = assert(io.open(folder .. '/chapters/claimed', 'a'))
    found = assert(io.open(folder .. '/chapters/found', 'a'))
    local first = document.blocks[1]
    if first and first.t == 'Header' and first.level == 1 then
        document.meta.title = first.content
        document.blocks:remove(1)
    end
    title = pandoc.utils.stringify(document.meta.title or '')
    findable(title, leaf, '')
    for _, block in ipairs(document.blocks) do
        if block.t == 'Header' then
            findable(pandoc.utils.stringify(block), leaf .. '#' .. block.identifier, title)
        end
    end
    document = document:walk { Inlines = glued }
    document = document:walk { Header = unlinked, Link = unlinked }
    document = document:walk { Blocks = boxes }
    document = document:walk {
        Math = formula,
        Code = function(code) return proof(code) end,
        Link = function(link)
            if not link.target:match('^test_[a-z_]+%.html#') then link.target = resolve(link.target) end
            return link
        end,
    }
    document.meta.figures = lives or nil
    sources:close()
    claimed:close()
    found:close()
    return document
end
