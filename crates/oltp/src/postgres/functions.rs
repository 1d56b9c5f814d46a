//! The five transactions as functions of the server, for `--server-side`.

/// What a rolled back order is told by.
pub(super) const UNUSED_ITEM: &str = "AS001";

/// The statements that make them. Names of parameters begin with `p_`, of variables with `v_`.
pub(super) const CREATE: [&str; 5] = [NEW_ORDER, PAYMENT, ORDER_STATUS, DELIVERY, STOCK_LEVEL];

const NEW_ORDER: &str = "
CREATE FUNCTION assay_new_order(p_w integer, p_d integer, p_c integer, p_at bigint, p_items integer[], p_supplies integer[],
    p_quantities integer[], p_local integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_order integer; v_price integer; v_info char(24); v_lines integer := array_length(p_items, 1);
BEGIN
    PERFORM w_tax FROM warehouse WHERE w_id = p_w;
    PERFORM c_discount, c_last, c_credit FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w AND d_id = p_d
        RETURNING d_next_o_id - 1 INTO v_order;
    INSERT INTO orders VALUES (v_order, p_d, p_w, p_c, p_at, NULL, v_lines, p_local);
    INSERT INTO new_order VALUES (v_order, p_d, p_w);
    FOR n IN 1 .. v_lines LOOP
        SELECT i_price INTO v_price FROM item WHERE i_id = p_items[n];
        IF NOT FOUND THEN
            RAISE EXCEPTION 'item % does not exist', p_items[n] USING ERRCODE = 'AS001';
        END IF;
        UPDATE stock SET
            s_quantity = CASE WHEN s_quantity >= p_quantities[n] + 10 THEN s_quantity - p_quantities[n]
                ELSE s_quantity - p_quantities[n] + 91 END,
            s_ytd = s_ytd + p_quantities[n], s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN p_supplies[n] = p_w THEN 0 ELSE 1 END
            WHERE s_w_id = p_supplies[n] AND s_i_id = p_items[n]
            RETURNING CASE p_d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                WHEN 9 THEN s_dist_09 ELSE s_dist_10 END INTO STRICT v_info;
        INSERT INTO order_line VALUES (v_order, p_d, p_w, n, p_items[n], p_supplies[n], NULL, p_quantities[n],
            v_price * p_quantities[n], v_info);
    END LOOP;
    RETURN v_order;
END $$";

const PAYMENT: &str = "
CREATE FUNCTION assay_payment(p_w integer, p_d integer, p_c_w integer, p_c_d integer, p_c integer, p_last text,
    p_amount integer, p_at bigint) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_warehouse text; v_district text; v_customer integer := p_c; v_credit char(2); v_ids integer[];
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w RETURNING w_name INTO v_warehouse;
    UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d RETURNING d_name INTO v_district;
    IF p_c = 0 THEN
        SELECT array_agg(c_id ORDER BY c_first) INTO v_ids FROM customer
            WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_last;
        v_customer := v_ids[(array_length(v_ids, 1) + 1) / 2];
    END IF;
    UPDATE customer SET c_balance = c_balance - p_amount, c_ytd_payment = c_ytd_payment + p_amount,
        c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_customer
        RETURNING c_credit INTO STRICT v_credit;
    IF v_credit = 'BC' THEN
        UPDATE customer SET c_data = left(concat_ws(' ', v_customer, p_c_d, p_c_w, p_d, p_w,
            to_char(p_amount / 100.0, 'FM999990.00'), '| ') || c_data, 500)
            WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_customer;
    END IF;
    INSERT INTO history VALUES (v_customer, p_c_d, p_c_w, p_d, p_w, p_at, p_amount, v_warehouse || '    ' || v_district);
    RETURN v_customer;
END $$";

const ORDER_STATUS: &str = "
CREATE FUNCTION assay_order_status(p_w integer, p_d integer, p_c integer, p_last text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_customer integer := p_c; v_order integer; v_ids integer[];
BEGIN
    IF p_c = 0 THEN
        SELECT array_agg(c_id ORDER BY c_first) INTO v_ids FROM customer
            WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last;
        v_customer := v_ids[(array_length(v_ids, 1) + 1) / 2];
    END IF;
    PERFORM c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = v_customer;
    SELECT o_id INTO STRICT v_order FROM orders WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = v_customer
        ORDER BY o_id DESC LIMIT 1;
    PERFORM ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
        WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_order;
    RETURN v_order;
END $$";

const DELIVERY: &str = "
CREATE FUNCTION assay_delivery(p_w integer, p_carrier integer, p_at bigint)
    RETURNS TABLE (r_district integer, r_order integer) LANGUAGE plpgsql AS $$
DECLARE
    v_order integer; v_customer integer; v_amount bigint;
BEGIN
    FOR d IN 1 .. 10 LOOP
        DELETE FROM new_order WHERE no_w_id = p_w AND no_d_id = d AND no_o_id =
            (SELECT no_o_id FROM new_order WHERE no_w_id = p_w AND no_d_id = d ORDER BY no_o_id LIMIT 1)
            RETURNING no_o_id INTO v_order;
        CONTINUE WHEN v_order IS NULL;
        UPDATE orders SET o_carrier_id = p_carrier WHERE o_w_id = p_w AND o_d_id = d AND o_id = v_order
            RETURNING o_c_id INTO v_customer;
        UPDATE order_line SET ol_delivery_d = p_at WHERE ol_w_id = p_w AND ol_d_id = d AND ol_o_id = v_order;
        SELECT sum(ol_amount) INTO v_amount FROM order_line WHERE ol_w_id = p_w AND ol_d_id = d AND ol_o_id = v_order;
        UPDATE customer SET c_balance = c_balance + v_amount, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = p_w AND c_d_id = d AND c_id = v_customer;
        r_district := d;
        r_order := v_order;
        RETURN NEXT;
    END LOOP;
END $$";

const STOCK_LEVEL: &str = "
CREATE FUNCTION assay_stock_level(p_w integer, p_d integer, p_threshold integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_next integer; v_low bigint;
BEGIN
    SELECT d_next_o_id INTO v_next FROM district WHERE d_w_id = p_w AND d_id = p_d;
    SELECT count(DISTINCT s_i_id) INTO v_low FROM order_line JOIN stock ON s_i_id = ol_i_id AND s_w_id = ol_w_id
        WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id >= v_next - 20 AND ol_o_id < v_next AND s_quantity < p_threshold;
    RETURN v_low;
END $$";
