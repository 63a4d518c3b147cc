-- book.lua -- what a page needs on its way from Markdown to the book
--
-- Links between pages become links between HTML files; links to sources lead
-- to their pages in source/, and the sources are listed in the file that the
-- metadata name; anything else in the house is reached where it lies.  An
-- excerpt and the link to its origin become one box; tables scroll.  A formula
-- keeps its number, which MathML has no place for, and the punctuation after it;
-- long names may break after an underscore.

local page, root, sources
local listed = {}

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

local function resolve(target)
    if target:match('^%a+:') or target:match('^#') then return target end
    local path, fragment = target:match('^([^#]*)(.*)$')
    path = normal((page:match('^(.*/)') or '') .. path)
    if path == 'book.md' then return 'index.html' .. fragment end
    if path:match('^chapters/[^/]+%.md$') then
        return path:match('([^/]+)%.md$') .. '.html' .. fragment
    end
    if path:match('^figures/.*%.svg$') or path:match('^figures/.*%.png$') then return path end
    if not readable(path) then return root .. path end
    if not listed[path] then
        listed[path] = true
        sources:write(path, '\n')
    end
    return 'source/' .. path .. '.html' .. fragment:gsub('^#L', '#L-')
end

local function sole(block, kind)
    return block and (block.t == 'Para' or block.t == 'Plain') and #block.content == 1
        and block.content[1].t == kind
end

local function boxes(blocks)
    local out = pandoc.List()
    for _, block in ipairs(blocks) do
        local last = out[#out]
        if block.t == 'RawBlock' and block.text:match('^<!%-%-') then
            -- weaving marks stay behind
        elseif sole(block, 'Link') and last and last.t == 'CodeBlock' then
            out[#out] = pandoc.Div({ last, block }, { class = 'excerpt' })
        elseif block.t == 'Table' then
            out:insert(pandoc.Div(block, { class = 'table' }))
        elseif sole(block, 'Image') then
            out:insert(pandoc.Div(block, { class = 'figure' }))
        else
            out:insert(block)
        end
    end
    return out
end

-- Pandoc knows \bigl and not \Bigl, and drops \tag.
local function formula(math)
    local text, number = math.text:gsub('\\B(igg?[lr]?)', '\\b%1'), nil
    text = text:gsub('\\tag(%b{})', function(tag) number = tag:sub(2, -2) return '' end)
    math.text = text
    if math.mathtype == 'InlineMath' then return math end
    local line = pandoc.List { math }
    if number then line:insert(pandoc.Span('(' .. number .. ')', { class = 'number' })) end
    return pandoc.Span(line, { class = 'equation' })
end

local function long_name(code)
    if #code.text < 16 or not code.text:find('_') then return nil end
    local text = code.text:gsub('[&<>]', { ['&'] = '&amp;', ['<'] = '&lt;', ['>'] = '&gt;' })
    return pandoc.RawInline('html', '<code>' .. text:gsub('_', '_<wbr>') .. '</code>')
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

function Pandoc(document)
    page = pandoc.utils.stringify(document.meta.page)
    root = pandoc.utils.stringify(document.meta.root)
    sources = assert(io.open(pandoc.utils.stringify(document.meta.sources), 'a'))
    local first = document.blocks[1]
    if first and first.t == 'Header' and first.level == 1 then
        document.meta.title = first.content
        document.blocks:remove(1)
    end
    document = document:walk { Inlines = glued }
    document = document:walk {
        Math = formula,
        Code = long_name,
        Link = function(link) link.target = resolve(link.target) return link end,
        Image = function(image) image.src = resolve(image.src) return image end,
        Blocks = boxes,
    }
    sources:close()
    return document
end
