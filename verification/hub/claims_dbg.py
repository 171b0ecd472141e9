import random, cocotb
from nectar.hdl.hub.commands import *
from nectar.hdl.link.symbol import *
from .scene import *
from .claims_together import *
from .claims_together import stands, explained
from .claims_table import NEEDS, good
@claim(ports=4, timeout_ms=60)
async def debug_together(scene):
    for row in COMMANDS:
        bad=0
        for k in range(6):
            if row.op == Op.RESET_HUB: continue
            first, second, target, reader = scene.some(4)
            prep=(random.choice([first, second, reader]), random.choice([NEEDS.get(row.op, Op.OPEN), Op.LOCK]))
            scene.order(*prep, target)
            await scene.drain()
            param = good(row, target)
            try:
                models = await explained(scene, {port: [command(row.op, HUB, param)] for port in (first, second)})
                await stands(scene, models, [target, first], reader)
            except Exception as e:
                bad+=1
                print("BAD", row.name, first, second, target, reader, prep, param, str(e)[-200:])
            await scene.start()
