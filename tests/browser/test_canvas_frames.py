"""How many frames a dragged θ costs: reported by the benchmarks, judged by people, never asserted on a clock."""

from __future__ import annotations

import pytest

import bfsoft as bf
from bfsoft_explorer.canvas._contract import canvas_data

FRAMES = 60
DRAG = """(frames) => new Promise((done) => {
    const track = document.querySelector('input[name=theta]').parentElement;
    const box = track.getBoundingClientRect();
    const reach = document.querySelector('[data-readout=reach]');
    const seen = new Set();
    const send = (type, fraction) => track.dispatchEvent(new PointerEvent(type, {
        pointerId: 1, button: 0, bubbles: true, clientY: box.top + 9,
        clientX: box.left + 9 + (box.width - 18) * fraction,
    }));
    track.setPointerCapture = () => {};
    send('pointerdown', 0);
    let frame = 0;
    const next = () => {
        send('pointermove', 0.02 + (0.3 * frame) / frames);
        seen.add(reach.dataset.raw);
        frame += 1;
        if (frame < frames) return requestAnimationFrame(next);
        send('pointerup', 0.32);
        done(seen.size);
    };
    requestAnimationFrame(next);
})"""


@pytest.mark.parametrize(("high", "theta"), [(90, 7), (1016, 50)], ids=["74 values", "1000 values"])
def test_sixty_frames_of_dragging_theta(mount, benchmark, high, theta):
    domain = bf.Domain([bf.Numeric("age", 17, high), bf.Categorical("income", ["<=50K", ">50K"])])
    page = mount(canvas_data(bf.Policy(domain, {"age": bf.Threshold(theta)}), "age", tau=0.03))
    distinct = benchmark(page.evaluate, DRAG, FRAMES)
    benchmark.extra_info["frames"] = FRAMES
    assert distinct > 15
